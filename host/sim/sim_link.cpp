#include "host/sim/sim_link.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace wattrig::sim {
namespace {

constexpr double bus_bytes_per_second = 970e3;
constexpr Nanoseconds wire_per_packet{60'000};  // a full-speed packet of 64 bytes with its overhead
// As the link over USB keeps them posted; each takes a block at most.
constexpr int transfers_in_flight = 8;
bool holds(const std::vector<std::uint64_t>& list, std::uint64_t number) {
    return std::find(list.begin(), list.end(), number) != list.end();
}

bool is_sync(std::span<const std::uint8_t> frame) {
    if (frame.size() < sizeof(protocol::FrameHeader) + sizeof(protocol::CommandHeader)) return false;
    std::uint16_t id = 0;
    std::memcpy(&id, frame.data() + sizeof(protocol::FrameHeader), sizeof id);
    return id == static_cast<std::uint16_t>(protocol::CommandId::sync);
}

}  // namespace

SimLink::SimLink(std::uint64_t seed, MeterFeed& feed, Hooks hooks, SimLinkFaults faults)
    : seed_(seed), feed_(feed), hooks_(std::move(hooks)), faults_(std::move(faults)), random_(seed, 0x115b) {
    hidden_out_ = Nanoseconds(static_cast<std::int64_t>(random_.uniform(0, 40e3)));
    hidden_in_ = Nanoseconds(static_cast<std::int64_t>(random_.uniform(0, 40e3)));
    frame_rate_error_ = random_.uniform(-50e-6, 50e-6);
    frame_phase_ns_ = static_cast<std::int64_t>(random_.uniform(0, 1e6));
    feed_.on_frame = [this](std::span<const std::uint8_t> frame, HostTime finished) { return on_frame(frame, finished); };
}

std::string SimLink::description() const { return "simulated rig, seed " + std::to_string(seed_); }

// 20 to 250 us, and sometimes 5 to 15 ms, on top of what no algorithm can see.
Nanoseconds SimLink::latency(Nanoseconds hidden, double outliers) {
    double ns = random_.uniform(20e3, 250e3);
    if (random_.uniform() < outliers) ns += random_.uniform(5e6, 15e6);
    return hidden + Nanoseconds(static_cast<std::int64_t>(ns));
}

Result<HostTime> SimLink::send(std::span<const std::uint8_t> frame) {
    const HostTime arrival = std::max(now_ + latency(hidden_out_, 0.02), last_command_ + wire_per_packet);
    last_command_ = arrival;
    commands_.push_back({arrival, {frame.begin(), frame.end()}});
    find_next();
    return now_;
}

bool SimLink::on_frame(std::span<const std::uint8_t> frame, HostTime finished) {
    if (deaf_for_ > Nanoseconds(0)) {
        deaf_until_ = std::max(deaf_until_, finished) + deaf_for_;
        deaf_for_ = Nanoseconds(0);
    }
    if (finished < deaf_until_) return false;
    const std::uint64_t number = frames_++;
    if (live_) finished = std::max(finished, now_);
    if (holds(faults_.drop, number)) return true;
    std::vector<std::uint8_t> bytes(frame.begin(), frame.end());
    if (holds(faults_.corrupt, number)) bytes[bytes.size() / 2] ^= 0x10;
    if (holds(faults_.duplicate, number)) queue_stream(bytes, finished);
    // Now and then a transfer ends inside a frame.
    if ((random_.next() & 7) == 0) {
        const std::size_t cut = std::size_t{64} * (1 + random_.below(static_cast<std::uint32_t>(bytes.size() / 64)));
        if (cut < bytes.size()) {
            queue_stream({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(cut)}, finished);
            bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(cut));
        }
    }
    queue_stream(std::move(bytes), finished);
    return true;
}

void SimLink::queue_stream(std::vector<std::uint8_t> bytes, HostTime finished) {
    const double wire = static_cast<double>(bytes.size()) / bus_bytes_per_second * 1e9;
    bus_free_ = std::max(bus_free_, finished) + Nanoseconds(static_cast<std::int64_t>(wire));
    last_stream_ = std::max(last_stream_, bus_free_ + latency(hidden_in_, 0.01));
    stream_.push_back({last_stream_, std::move(bytes)});
    find_next();  // codes are also made when operations come, outside poll
}

HostTime SimLink::reply_ready() {
    if (!feed_.meter().reply_pending()) return HostTime::max();
    const auto ticks = static_cast<std::int64_t>(feed_.meter().reply_ready_at() * protocol::ticks_per_microsecond);
    return std::max(feed_.clock().to_host(DeviceTime(Ticks(ticks))), device_now_);
}

void SimLink::frame_start(HostTime now) {
    const double frame_ns = 1e6 * (1 + frame_rate_error_);
    const auto number =
        static_cast<std::int64_t>(static_cast<double>(now.time_since_epoch().count() - frame_phase_ns_) / frame_ns);
    if (number < 0) return;
    const HostTime begin(Nanoseconds(frame_phase_ns_ + static_cast<std::int64_t>(static_cast<double>(number) * frame_ns)));
    feed_.meter().on_frame_start(feed_.clock().timer_us(begin), static_cast<std::uint32_t>(number));
}

// What happens at the board up to `until`, in its order.
void SimLink::run_device(HostTime until) {
    std::array<std::uint8_t, protocol::maximum_frame_bytes> reply;
    while (true) {
        const HostTime command = commands_.empty() ? HostTime::max() : commands_.front().arrival;
        const HostTime at = std::min(command, reply_ready_);
        if (at > until) break;
        // An exchange of stamps looks at the clock alone; all else may change what the codes become.
        const bool stamps_only = command > reply_ready_ || is_sync(commands_.front().bytes);
        (stamps_only ? hooks_.produce_when_due : hooks_.produce)(at);
        device_now_ = at;
        frame_start(at);
        if (command <= reply_ready_) {
            const bool streamed = feed_.meter().streaming();
            feed_.meter().on_command(feed_.clock().timer_us(at), commands_.front().bytes);
            if (feed_.meter().streaming() && !streamed) {
                feed_.begin_stream(at);
                if (hooks_.stream_begun) hooks_.stream_begun(at);
            }
            commands_.pop_front();
        } else {
            const std::size_t size = feed_.meter().take_reply(feed_.clock().timer_us(at), reply);
            if (size > 0) {
                last_reply_ = std::max(last_reply_ + wire_per_packet, at + latency(hidden_in_, 0.05));
                replies_.push_back({last_reply_, {reply.begin(), reply.begin() + static_cast<std::ptrdiff_t>(size)}});
            }
        }
        reply_ready_ = reply_ready();
    }
    hooks_.produce_when_due(until);
    reply_ready_ = reply_ready();
}

void SimLink::deliver(HostTime now) {
    while (true) {
        const HostTime stream = stream_.empty() ? HostTime::max() : stream_.front().arrival;
        const HostTime reply = replies_.empty() ? HostTime::max() : replies_.front().arrival;
        if (std::min(stream, reply) > now) return;
        const bool is_reply = reply <= stream;
        std::deque<Packet>& queue = is_reply ? replies_ : stream_;
        const Packet packet = std::move(queue.front());
        queue.pop_front();
        if (handler_ == nullptr) continue;
        if (is_reply)
            handler_->on_reply(packet.bytes, packet.arrival);
        else
            handler_->on_stream(packet.bytes, packet.arrival);
    }
}

// Codes are made when the host looks, all at once, so a host that was away is told from the clock: of the blocks of that time
// the posted transfers took some, the rig's ring the next, and what came then found it full.
void SimLink::notice_absence(Nanoseconds absence) {
    constexpr Nanoseconds block{protocol::samples_per_block * 30'720};
    constexpr Nanoseconds posted = transfers_in_flight * block;
    constexpr Nanoseconds room = posted + firmware::Stream::ring_slots * block;
    if (absence > room) deaf_for_ += absence - posted;
}

void SimLink::poll(HostTime now) {
    if (live_ && now_ > HostTime{}) notice_absence(now - now_);
    now_ = std::max(now_, now);
    run_device(now_);
    deliver(now_);
    find_next();
}

void SimLink::find_next() {
    next_ = std::min(next_production_, reply_ready_);
    if (!commands_.empty()) next_ = std::min(next_, commands_.front().arrival);
    if (!replies_.empty()) next_ = std::min(next_, replies_.front().arrival);
    if (!stream_.empty()) next_ = std::min(next_, stream_.front().arrival);
}

}  // namespace wattrig::sim
