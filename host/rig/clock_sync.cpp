#include "host/rig/clock_sync.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <utility>

#include "host/rig/clock_hull.hpp"
#include "host/rig/rate_guard.hpp"

namespace wattrig::rig {
namespace {

constexpr double ppm = 1e-6;
constexpr double per_second = 1e-9;  // 1/s in 1/ns
// Where to look for the rate of a clock that is out of its range.
constexpr double search_rate = 5000 * ppm;
// Rounding of host times, of the map's integers, and the truth's own bend inside a knot's segment (A T^2 / 8 is below 1 ns).
constexpr double rounding_ns = 4;
constexpr double rate_known_within = 40;  // ppm
constexpr double calm_after_s = 60;
// No rig keeps a reply for longer, and a point older than its own pair would leave a hull empty.
constexpr Ticks longest_answer{125'000'000};  // 1 s
constexpr std::size_t most_recent_points = 4096;

double nanoseconds(Ticks ticks) { return static_cast<double>(ticks.count() * 8); }

std::string number(double value) {
    std::array<char, 32> text{};
    // snprintf follows the locale's decimal comma; %.1f of a sentence for people may not.
    const long tenths = std::lround(value * 100);
    std::snprintf(text.data(), text.size(), "%s%ld.%02ld", tenths < 0 ? "-" : "", std::labs(tenths) / 100,
                  std::labs(tenths) % 100);
    return text.data();
}

// Both clocks relative to the first exchange: integers first, double only for differences.
struct Origin {
    HostTime host;
    DeviceTime device;

    [[nodiscard]] double d(DeviceTime t) const { return nanoseconds(t - device); }
    [[nodiscard]] double y(HostTime h, DeviceTime t) const {
        return static_cast<double>((h - host).count() - (t - device).count() * 8);
    }
    [[nodiscard]] HostTime host_at(DeviceTime t, double x) const {
        return host + Nanoseconds((t - device).count() * 8 + std::llround(x));
    }
};

struct Points {
    HullPoint lower, upper;
};

Points points_of(const Origin& origin, const Exchange& exchange, const ClockParameters& p) {
    return {
        {origin.d(exchange.d2), origin.y(exchange.h1, exchange.d2) + static_cast<double>((p.wire_out - p.stamp_error).count())},
        {origin.d(exchange.d3), origin.y(exchange.h4, exchange.d3) - static_cast<double>((p.wire_in - p.stamp_error).count())}};
}

// Nothing that a rig and its host could have stamped.
bool contradicts_itself(const Exchange& exchange, const ClockParameters& p) {
    if (exchange.h4 < exchange.h1 || exchange.d3 < exchange.d2) return true;
    constexpr std::int64_t limit = std::int64_t{1} << 59;  // ticks: their nanoseconds fit 63 bit
    if (exchange.d2.time_since_epoch().count() < 0 || exchange.d3.time_since_epoch().count() > limit) return true;
    if (exchange.d3 - exchange.d2 > longest_answer) return true;
    const auto host_ns = static_cast<double>((exchange.h4 - exchange.h1).count());
    const double slack = 2 * static_cast<double>(p.stamp_error.count());
    return nanoseconds(exchange.d3 - exchange.d2) * (1 - search_rate) > host_ns + slack;
}

struct Set {  // all that fits at one time
    Range x, rates;
};

std::optional<Set> feasible(const HullPair& pair, double d, double rate_limit) {
    if (pair.lower.empty() || pair.upper.empty()) return std::nullopt;
    const std::optional<Range> rates = pair.rates(d, rate_limit);
    if (!rates) return std::nullopt;
    return Set{pair.extremes(d, *rates), *rates};
}

HullPair::Centroid point_estimate(const HullPair& point, const HullPair& guarantee, double d, const Set& set,
                                  double rate_limit) {
    if (const std::optional<Range> rates = point.rates(d, rate_limit)) return point.centroid(d, *rates);
    // The clock bends more than crystals do, but less than it may.
    return guarantee.centroid(d, set.rates);
}

}  // namespace

struct ClockSync::State {
    State(std::uint32_t boot, const ClockParameters& p)
        : parameters(p),
          assumed(p.guarantee_ppm_per_s),
          guarantee(assumed * ppm * per_second),
          point(p.point_ppm_per_s * ppm * per_second),
          map({}, boot, "live") {}

    ClockParameters parameters;
    double assumed;  // A of the guarantee in force, ppm/s
    Origin origin;
    bool has_origin = false;
    HullPair guarantee, point;
    std::deque<Points> recent;  // for building the hulls anew with another A
    DeviceTime newest{};
    ClockMap map;
    bool published_since_restart = false;
    RateGuard guard;
    double alarm_at = 0;  // ns
    std::optional<std::string> fault;
    std::vector<std::string> notices;

    [[nodiscard]] double rate_limit() const { return parameters.maximum_rate_ppm * ppm; }

    void insert(const Points& points) {
        for (HullPair* pair : {&guarantee, &point}) {
            pair->lower.add(points.lower);
            pair->upper.add(points.upper);
            const double oldest = points.upper.d - static_cast<double>(parameters.maximum_age.count());
            for (Hull* hull : {&pair->lower, &pair->upper}) {
                hull->keep_newest(parameters.maximum_points);
                hull->drop_before(oldest);
            }
        }
    }

    // New hulls with another A, from the points at or after `since`.
    void rebuild(double ppm_per_s, double since) {
        assumed = ppm_per_s;
        guarantee = HullPair(assumed * ppm * per_second);
        point = HullPair(std::max(parameters.point_ppm_per_s, assumed / 5) * ppm * per_second);
        while (!recent.empty() && recent.front().lower.d < since) recent.pop_front();
        for (const Points& points : recent) insert(points);
    }

    void raise(double d, double drift_ppm_per_s, bool forget, const std::string& why) {
        alarm_at = d;
        const double raised = std::min(std::max(4 * parameters.guarantee_ppm_per_s, 2 * std::abs(drift_ppm_per_s)), 10.0);
        notices.push_back(why + ": the clock map's bound now assumes " + number(std::max(raised, assumed)) +
                          " ppm/s; it may have been too narrow during the last 8 s");
        rebuild(std::max(raised, assumed), forget ? recent.empty() ? d : recent.back().lower.d : d - calm_after_s / per_second);
    }

    void watch(const StartOfFrame& frame, double d) {
        if (const std::optional<RateAlarm> alarm = guard.add(frame.time, frame.number)) {
            if (alarm->kind == RateAlarm::Kind::step) {
                raise(d, 0, true, "the rig's clock changed its rate by " + number(alarm->size) + " ppm within seconds");
            } else {
                raise(d, alarm->size, false, "the rig's clock drifts by " + number(alarm->size) + " ppm/s");
            }
        } else if (assumed > parameters.guarantee_ppm_per_s && d - alarm_at > calm_after_s / per_second) {
            rebuild(parameters.guarantee_ppm_per_s, alarm_at + calm_after_s / 4 / per_second);
        }
    }

    // After each exchange: is there still a clock that fits?
    void check(double d) {
        if (guarantee.rates(d, rate_limit())) return;
        if (const std::optional<Range> rates = guarantee.rates(d, search_rate)) {
            // A set that only exists outside the range: no bound was broken, so this is the clock's rate. It is said once it
            // is known; until then nothing is published.
            if (rates->high - rates->low > rate_known_within * ppm) return;
            const double rate = guarantee.centroid(d, *rates).rate / ppm;
            fault = "the rig's clock runs " + number(std::abs(rate)) + " ppm " + (rate > 0 ? "slow" : "fast") +
                    " against the host's, more than the " + number(parameters.maximum_rate_ppm) +
                    " ppm that any sound crystal keeps: the rig's crystal or the host's clock is faulty";
            return;
        }
        raise(d, 0, true, "the exchanges with the rig contradict each other (a clock jumped, or the host slept)");
        published_since_restart = false;
    }

    struct Ends {
        Set begin, end;
        HullPair::Centroid begin_point, end_point;
    };
    [[nodiscard]] std::optional<Ends> ends(double d, double length) const {
        const std::optional<Set> begin = feasible(guarantee, d, rate_limit());
        const std::optional<Set> end = feasible(guarantee, d + length, rate_limit());
        if (!begin || !end) return std::nullopt;
        return Ends{*begin, *end, point_estimate(point, guarantee, d, *begin, rate_limit()),
                    point_estimate(point, guarantee, d + length, *end, rate_limit())};
    }

    // A knot at `t` where the published map stands at x, or where it is free to stand (no x: the first).
    [[nodiscard]] std::optional<ClockKnot> knot(DeviceTime t, std::optional<HostTime> fixed) const {
        const double d = origin.d(t);
        const double length = nanoseconds(knot_spacing);
        const std::optional<Ends> e = ends(d, length);
        if (!e) return std::nullopt;
        const HostTime host = fixed ? *fixed : origin.host_at(t, e->begin_point.x);
        const double x = origin.y(host, t);
        // Straight to where the clock will be at the segment's end, as fast as the slew allows.
        const double slew = parameters.slew_ppm * ppm;
        const double rate = std::clamp((e->end_point.x - x) / length, e->end_point.rate - slew, e->end_point.rate + slew);
        const double x_end = x + rate * length;
        const double half =
            std::max({x - e->begin.x.low, e->begin.x.high - x, x_end - e->end.x.low, e->end.x.high - x_end}) + rounding_ns;
        return ClockKnot{t, host, Nanoseconds(std::llround(std::ceil(half))), rate / ppm};
    }
};

ClockSync::ClockSync(std::uint32_t boot_id, const ClockParameters& parameters)
    : s_(std::make_unique<State>(boot_id, parameters)) {}
ClockSync::~ClockSync() = default;
ClockSync::ClockSync(ClockSync&&) noexcept = default;
ClockSync& ClockSync::operator=(ClockSync&&) noexcept = default;

bool ClockSync::add(const Exchange& exchange, const std::optional<StartOfFrame>& frame) {
    if (s_->fault || contradicts_itself(exchange, s_->parameters)) return false;
    if (!s_->has_origin) {
        s_->origin = {exchange.h1, exchange.d2};
        s_->has_origin = true;
    } else if (exchange.d2 <= s_->newest) {
        return false;
    }
    s_->newest = exchange.d3;
    const Points points = points_of(s_->origin, exchange, s_->parameters);
    s_->recent.push_back(points);
    if (s_->recent.size() > most_recent_points) s_->recent.pop_front();
    s_->insert(points);
    if (frame) s_->watch(*frame, points.upper.d);
    s_->check(points.upper.d);
    return true;
}

std::optional<ClockEstimate> ClockSync::estimate(DeviceTime t) const {
    if (!s_->has_origin || s_->fault || t - s_->newest > s_->parameters.maximum_age) return std::nullopt;
    const double d = s_->origin.d(t);
    const std::optional<Set> set = feasible(s_->guarantee, d, s_->rate_limit());
    if (!set) return std::nullopt;
    const HullPair::Centroid point = point_estimate(s_->point, s_->guarantee, d, *set, s_->rate_limit());
    return ClockEstimate{s_->origin.host_at(t, point.x),
                         s_->origin.host_at(t, std::floor(set->x.low)),
                         s_->origin.host_at(t, std::ceil(set->x.high)),
                         point.rate / ppm,
                         set->rates.low / ppm,
                         set->rates.high / ppm};
}

std::size_t ClockSync::publish(DeviceTime now) {
    State& s = *s_;
    if (!s.has_origin || s.fault) return 0;
    std::size_t published = 0;
    // After a pause in which every point has aged away, the map goes on behind a hole; ClockMap tells how wide the bound is in
    // it.
    if (!s.map.empty() && now - s.map.knots().back().device > s.parameters.maximum_age) s.published_since_restart = false;
    if (!s.published_since_restart) {
        const std::optional<ClockKnot> knot = s.knot(now, std::nullopt);
        if (!knot || knot->half_width > s.parameters.publish_half_width) return 0;
        if (!s.map.empty() && (knot->device <= s.map.knots().back().device || knot->host <= s.map.knots().back().host))
            return 0;
        s.map.append(*knot);
        s.published_since_restart = true;
        published = 1;
    }
    for (;;) {
        const DeviceTime next = s.map.knots().back().device + knot_spacing;
        if (next > now || next - s.newest > s.parameters.maximum_age) return published;
        const std::optional<ClockKnot> knot = s.knot(next, s.map.to_host(next));
        if (!knot) return published;
        s.map.append(*knot);
        ++published;
    }
}

const ClockMap& ClockSync::map() const { return s_->map; }
const std::optional<std::string>& ClockSync::fault() const { return s_->fault; }
double ClockSync::assumed_ppm_per_s() const { return s_->assumed; }
std::vector<std::string> ClockSync::take_notices() { return std::exchange(s_->notices, {}); }

ClockMap refit_two_sided(std::span<const Exchange> exchanges, const ClockParameters& p) {
    std::vector<Exchange> good;
    good.reserve(exchanges.size());
    for (const Exchange& exchange : exchanges) {
        if (exchange.boot_id != exchanges.front().boot_id || contradicts_itself(exchange, p)) continue;
        if (good.empty() || exchange.d2 > good.back().d3) good.push_back(exchange);
    }
    if (good.empty()) return ClockMap{};
    const std::uint32_t boot_id = good.front().boot_id;
    const Origin origin{good.front().h1, good.front().d2};
    const double limit = p.maximum_rate_ppm * ppm;

    for (double assumed = p.guarantee_ppm_per_s; assumed <= 100; assumed *= 2) {
        HullPair guarantee(assumed * ppm * per_second);
        HullPair point(std::max(p.point_ppm_per_s, assumed > p.guarantee_ppm_per_s ? assumed / 5 : 0) * ppm * per_second);
        for (const Exchange& exchange : good) {
            const Points points = points_of(origin, exchange, p);
            for (HullPair* pair : {&guarantee, &point}) {
                pair->lower.add(points.lower);
                pair->upper.add(points.upper);
            }
        }
        std::vector<ClockKnot> knots;
        std::vector<double> halves;
        bool fits = true;
        // One knot more than are kept: the last kept one answers for its segment, too.
        const DeviceTime end = good.back().d3 + 2 * knot_spacing;
        std::size_t next = 0;  // exchange at or after t
        for (DeviceTime t = good.front().d2; t < end; t += knot_spacing) {
            while (next < good.size() && good[next].d3 < t) ++next;
            // No knots where no exchange is near: ClockMap knows how to widen a hole.
            if (next > 0 && next < good.size() && t - good[next - 1].d3 > knot_spacing && good[next].d2 - t > p.maximum_age) {
                t = good[next].d2;
            }
            const double d = origin.d(t);
            const std::optional<Set> set = feasible(guarantee, d, limit);
            fits = set.has_value();
            if (!fits) break;
            const HullPair::Centroid at = point_estimate(point, guarantee, d, *set, limit);
            const HostTime host = origin.host_at(t, at.x);
            const double x = origin.y(host, t);
            halves.push_back(std::max(x - set->x.low, set->x.high - x) + rounding_ns);
            knots.push_back({t, host, Nanoseconds(0), at.rate / ppm});
        }
        if (!fits) continue;
        for (std::size_t k = 0; k < knots.size(); ++k) {
            const double half = k + 1 < knots.size() ? std::max(halves[k], halves[k + 1]) : halves[k];
            knots[k].half_width = Nanoseconds(std::llround(std::ceil(half)));
            if (k + 1 < knots.size()) {
                const double length = nanoseconds(knots[k + 1].device - knots[k].device);
                knots[k].rate_ppm = (static_cast<double>((knots[k + 1].host - knots[k].host).count()) / length - 1) / ppm;
            }
        }
        // Two points of the estimate may not run backwards, whatever the exchanges were.
        for (std::size_t k = 1; k < knots.size(); ++k) fits = fits && knots[k].host > knots[k - 1].host;
        if (!fits) continue;
        knots.pop_back();
        return ClockMap(std::move(knots), boot_id,
                        assumed > p.guarantee_ppm_per_s ? "two-sided, assuming " + number(assumed) + " ppm/s" : "two-sided");
    }
    return ClockMap{};
}

}  // namespace wattrig::rig
