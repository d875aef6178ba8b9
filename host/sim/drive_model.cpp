#include "host/sim/drive_model.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

namespace wattrig::sim {
namespace {

constexpr std::int64_t longest_unsettled = 100'000'000;
constexpr std::int64_t thermal_step_ns = 10'000'000;
constexpr std::size_t most_transitions = 1000;

constexpr std::uint64_t scramble(std::uint64_t x) {
    x *= 0x9e3779b97f4a7c15u;
    return x ^ (x >> 32);
}

}  // namespace

DriveModel::DriveModel(const DriveParameters& parameters, std::uint64_t seed, PowerTrace* trace, EnergyLedger* ledger)
    : p_(parameters),
      trace_(trace),
      ledger_(ledger),
      link_ns_per_byte_(1e9 / parameters.controller.link_bytes_per_second),
      page_shift_(static_cast<std::uint32_t>(std::countr_zero(parameters.flash.page_bytes))),
      read_times_(256),
      units_(parameters.flash.units),
      jitter_(seed * 0x9e3779b97f4a7c15u + 0x853c49e6748fea9bu),
      program_done_(parameters.write_buffer_bytes / parameters.flash.program_bytes + 2) {
    if (std::has_single_bit(units_.size())) units_shift_ = std::countr_zero(units_.size());
    celsius_ = p_.thermal.ambient_celsius + p_.thermal.kelvin_per_watt * p_.power.idle_watt;
    set_times();
    if (p_.space.spare_fraction > 0) {
        space_.emplace(p_.capacity_bytes, p_.space);
        map_mask_ = p_.space.map_unit_bytes - 1;
    }
    if (p_.map_cache.segments > 0) {
        has_map_cache_ = true;
        const auto all = static_cast<std::uint32_t>(p_.capacity_bytes / p_.map_cache.segment_bytes + 1);
        own_map_.resize(all, p_.map_cache.segments);
        host_map_.resize(all, p_.map_cache.host_segments());
    }
}

void DriveModel::MapCache::resize(std::uint32_t all, std::uint32_t slots) {
    slot_of_.assign(slots > 0 ? all : 0, -1);
    segment_of_.assign(slots, 0);
    used_ = 0;
}

// Whether it was there; now it is.
bool DriveModel::MapCache::touch(std::uint32_t segment, std::uint64_t& random) {
    if (segment >= slot_of_.size()) return false;
    if (slot_of_[segment] >= 0) return true;
    std::uint32_t slot = used_;
    if (used_ < segment_of_.size()) {
        ++used_;
    } else {
        random = random * 6364136223846793005u + 1442695040888963407u;
        slot = static_cast<std::uint32_t>(((random >> 32) * segment_of_.size()) >> 32);
        slot_of_[segment_of_[slot]] = -1;
    }
    segment_of_[slot] = segment;
    slot_of_[segment] = static_cast<std::int32_t>(slot);
    return false;
}

// A throttled drive lets its flash rest between two works, so each takes the longer.
void DriveModel::set_times() {
    const double stretch = throttled_ ? 1 / p_.thermal.throttled_duty : 1;
    const double channel_ns_per_byte = stretch * 1e9 / p_.flash.channel_bytes_per_second;
    channel_times_.clear();
    for (std::uint32_t bytes = 0; bytes <= p_.flash.page_bytes; bytes += 512)
        channel_times_.push_back(static_cast<std::int32_t>(bytes * channel_ns_per_byte));
    const double read_ns = stretch * static_cast<double>(p_.flash.read_ns);
    for (std::size_t k = 0; k < read_times_.size(); ++k) {
        const double place = (2.0 * static_cast<double>(k) + 1.0) / 256.0 - 1.0;
        read_times_[k] = static_cast<std::int32_t>(read_ns * (1.0 + p_.flash.read_spread * place));
    }
    cache_program_ns_ = static_cast<std::int64_t>(stretch * static_cast<double>(p_.flash.cache_program_ns));
    program_ns_ = static_cast<std::int64_t>(stretch * static_cast<double>(p_.flash.program_ns));
    // The pages to be moved are read side by side on the planes of a unit.
    move_ns_ = program_ns_ + static_cast<std::int64_t>(read_ns + p_.flash.program_bytes * channel_ns_per_byte);
}

// Consecutive pages lie on consecutive units, and each round begins at a place of its own.
std::uint32_t DriveModel::unit_of(std::uint64_t page) const {
    const std::uint64_t units = units_.size();
    if (units_shift_ >= 0) return static_cast<std::uint32_t>((page + (scramble(page >> units_shift_) >> 40)) & (units - 1));
    return static_cast<std::uint32_t>((page + (scramble(page / units) >> 40)) % units);
}

std::int64_t DriveModel::submit(const io::Operation& operation, std::int64_t now) {
    if (now > busy_until_) {
        settle(now);  // the gap is idle time
        if (!p_.power.idle_states.empty()) controller_free_ = std::max(controller_free_, awake_at(now));
        busy_until_ = now;
    } else if (now - settled_ > longest_unsettled) {
        settle(now);  // nobody asks for codes; the ledger's cells reach 2 s ahead
    }
    controller_free_ = std::max(controller_free_, now) + p_.controller.command_ns;
    const std::int64_t start = controller_free_;
    std::int64_t completed = 0;
    switch (operation.kind) {
        case io::OperationKind::read: completed = read(operation, start); break;
        case io::OperationKind::write: completed = write(operation, start, now); break;
        case io::OperationKind::flush: completed = flush(start, now); break;
        case io::OperationKind::discard:
        case io::OperationKind::write_zeroes: {
            const double gib = static_cast<double>(operation.length) / (1u << 30);
            controller_free_ += static_cast<std::int64_t>(gib * static_cast<double>(p_.controller.discard_ns_per_gib));
            completed = controller_free_ + p_.controller.discard_ns;
            if (space_ && operation.kind == io::OperationKind::discard) space_->discard(operation.offset, operation.length);
            pulse(start, completed, p_.power.write_joule);
            break;
        }
    }
    busy_until_ = std::max(busy_until_, completed);
    return completed;
}

std::int64_t DriveModel::read_unit(std::uint32_t index, std::int64_t start, std::int64_t time) {
    Unit& unit = units_[index];
    std::int64_t begin = std::max(unit.read_free, start);
    if (begin < unit.program_free && begin >= unit.programs_since) {
        // A read that follows another one finds the program suspended already.
        const std::int64_t suspend = start > unit.read_free ? p_.flash.suspend_ns : 0;
        begin += suspend;
        unit.program_free += time + suspend;
    }
    return unit.read_free = begin + time;
}

// The map's own cache: random replacement, so that in the steady state the share of hits is cached over touched segments.
std::int64_t DriveModel::map_lookup(std::uint64_t offset, std::int64_t start, double& joule) {
    const auto segment = static_cast<std::uint32_t>(offset / p_.map_cache.segment_bytes);
    if (own_map_.touch(segment, jitter_)) return start;
    if (host_map_.touch(segment, jitter_)) return start + p_.map_cache.host_buffer_ns;
    joule += p_.map_cache.miss_joule;
    return read_unit(unit_of(scramble(segment) >> 20), start, p_.map_cache.miss_ns);
}

std::int64_t DriveModel::read(const io::Operation& operation, std::int64_t start) {
    double joule = p_.power.read_joule + p_.power.read_joule_per_byte * operation.length;
    const std::int64_t begin = start;
    if (has_map_cache_) start = map_lookup(operation.offset, start, joule);
    const std::uint64_t last = (operation.offset + operation.length - 1) >> page_shift_;
    std::uint64_t at = operation.offset;
    std::int64_t flash_done = start;
    for (std::uint64_t page = at >> page_shift_; page <= last; ++page) {
        const std::uint64_t until = std::min<std::uint64_t>((page + 1) << page_shift_, operation.offset + operation.length);
        const auto time = read_times_[scramble(page) >> 56] + channel_times_[(until - at) >> 9];
        flash_done = std::max(flash_done, read_unit(unit_of(page), start, time));
        at = until;
    }
    link_read_free_ = std::max(link_read_free_, static_cast<double>(start)) + operation.length * link_ns_per_byte_;
    jitter_ = jitter_ * 6364136223846793005u + 1442695040888963407u;
    const auto overhead = p_.controller.read_overhead_ns;
    const std::int64_t completed =
        std::max(flash_done, static_cast<std::int64_t>(link_read_free_)) + overhead - (overhead >> 4) +
        static_cast<std::int64_t>(((jitter_ >> 32) * static_cast<std::uint64_t>(overhead >> 3)) >> 32);
    pulse(begin, completed, joule);
    return completed;
}

// Takes the data into the buffer as programs of it finish, and issues a program whenever there is enough for one.
std::int64_t DriveModel::write(const io::Operation& operation, std::int64_t start, std::int64_t now) {
    double joule = p_.power.write_joule + p_.power.write_joule_per_byte * operation.length;
    if (has_map_cache_) start = map_lookup(operation.offset, start, joule);
    const std::uint64_t program_bytes = p_.flash.program_bytes;
    std::int64_t accepted_at = start;
    std::int64_t begin = 0;
    const std::uint64_t on_flash = (operation.length + map_mask_) & ~map_mask_;
    rounding_ += on_flash - operation.length;
    if (space_) {
        space_->write(operation.offset & ~map_mask_, on_flash);
        look_at_space();
    }
    for (std::uint64_t left = on_flash; left > 0;) {
        const std::uint64_t piece = std::min(left, program_bytes);
        left -= piece;
        accepted_ += piece;
        const std::uint64_t in_buffer_or_done = accepted_ + padding_;
        if (in_buffer_or_done > p_.write_buffer_bytes) {
            const std::uint64_t must_be_done = (in_buffer_or_done - p_.write_buffer_bytes + program_bytes - 1) / program_bytes;
            accepted_at = std::max(accepted_at, program_done_[(must_be_done - 1) % program_done_.size()]);
        }
        link_write_free_ =
            std::max(link_write_free_, static_cast<double>(accepted_at)) + static_cast<double>(piece) * link_ns_per_byte_;
        if (begin == 0) begin = accepted_at;
        accepted_at = std::max(accepted_at, static_cast<std::int64_t>(link_write_free_));
        if (accepted_ + padding_ - programs_ * program_bytes >= program_bytes) program(accepted_at, now);
    }
    jitter_ = jitter_ * 6364136223846793005u + 1442695040888963407u;
    const auto overhead = p_.controller.write_overhead_ns;
    const std::int64_t completed =
        accepted_at + overhead - (overhead >> 4) +
        static_cast<std::int64_t>(((jitter_ >> 32) * static_cast<std::uint64_t>(overhead >> 3)) >> 32);
    pulse(begin, completed, joule);
    return completed;
}

void DriveModel::program(std::int64_t earliest, std::int64_t now) {
    bool cached = false;
    if (held_) {
        cached = p_.cache.bytes > 0 && cache_open_;
    } else if (p_.cache.bytes > 0) {
        if (now > drained_to_) {
            drain(drained_to_, now, p_.cache.busy_drain_bytes_per_second);
            drained_to_ = now;
        }
        const double bytes = p_.flash.program_bytes;
        if (cache_open_ && cache_used_ + bytes > cache_limit()) {
            cache_open_ = false;
            note(Transition::Kind::cache_full);
            if (cache_left_at_ == 0) cache_left_at_ = host_bytes_written();
        }
        cached = cache_open_;
        if (cached) cache_used_ += bytes;
    }
    Unit& unit = unit_for_program();
    const std::int64_t begin = std::max({unit.program_free, unit.read_free, earliest});
    if (begin > unit.program_free) unit.programs_since = begin;
    const std::int64_t end = begin + spread(cached ? cache_program_ns_ : program_ns_);
    unit.program_free = end;
    all_done_ = std::max(all_done_, end);
    program_done_[programs_ % program_done_.size()] = all_done_;
    ++programs_;
    busy_until_ = std::max(busy_until_, end);
    pulse(begin, end,
          p_.flash.program_bytes * (cached ? p_.power.cache_program_joule_per_byte : p_.power.program_joule_per_byte));
    if (copies_per_byte_ > 0) move_within(p_.flash.program_bytes * copies_per_byte_, earliest);
    if (folding_ && !cached) {
        const double folded = p_.flash.program_bytes * folded_per_byte();
        move_within(folded, earliest);
        if (!held_) take_from_cache(folded);
    }
}

// Collection and folding: reads and programs of the drive's own, between those of the host.
void DriveModel::move_within(double bytes, std::int64_t earliest) {
    move_debt_ += bytes;
    const double program_bytes = p_.flash.program_bytes;
    // A little early, by chance: a fixed pattern would run in step with the turn of the units.
    jitter_ = jitter_ * 6364136223846793005u + 1442695040888963407u;
    const double early = static_cast<double>(jitter_ >> 40) * 0x1p-24 * program_bytes;
    while (move_debt_ >= early + 1) {
        move_debt_ -= program_bytes;
        Unit& unit = unit_for_program();
        ++moves_;
        const std::int64_t begin = std::max({unit.program_free, unit.read_free, earliest});
        if (begin > unit.program_free) unit.programs_since = begin;
        const std::int64_t end = unit.program_free = begin + spread(move_ns_);
        busy_until_ = std::max(busy_until_, end);
        pulse(begin, end, program_bytes * p_.power.drain_joule_per_byte);
    }
}

std::int64_t DriveModel::flush(std::int64_t start, std::int64_t now) {
    const std::uint64_t waiting = accepted_ + padding_ - programs_ * p_.flash.program_bytes;
    if (waiting > 0) {
        padding_ += p_.flash.program_bytes - waiting;
        program(start, now);
    }
    const std::int64_t completed = std::max(start, all_done_) + p_.controller.flush_ns;
    pulse(start, completed, p_.power.write_joule);
    return completed;
}

void DriveModel::drain(std::int64_t from, std::int64_t to, double rate) {
    if (cache_used_ <= 0 || rate <= 0 || to <= from || held_) return;
    const double bytes = std::min(cache_used_, rate * 1e-9 * static_cast<double>(to - from));
    pulse(from, std::min(to, from + static_cast<std::int64_t>(bytes / rate * 1e9) + 1), bytes * p_.power.drain_joule_per_byte);
    take_from_cache(bytes);
}

void DriveModel::settle(std::int64_t now) {
    if (now <= settled_) return;
    // Drain is booked for time that has passed, so before the ledger closes it.
    const std::int64_t active_end = std::min(now, busy_until_);
    if (active_end > settled_) {
        if (!active_ && trace_) trace_->activity(settled_, true);
        active_ = true;
        if (p_.cache.bytes > 0) drain(drained_to_, active_end, p_.cache.busy_drain_bytes_per_second);
        ledger_->advance(active_end, true);
    }
    if (now > busy_until_) {
        const std::int64_t begin = std::max(settled_, busy_until_);
        if (active_ && trace_) trace_->activity(begin, false);
        active_ = false;
        quiet_since_ = std::max(quiet_since_, busy_until_);
        if (p_.cache.bytes > 0 && cache_used_ > 0) {
            const std::int64_t from = std::max(begin, busy_until_ + p_.cache.idle_before_drain_ns);
            quiet_since_ = std::max(quiet_since_, std::min(now, next_empty(from)));
            drain(from, now, p_.cache.drain_bytes_per_second);
        }
        if (!p_.power.idle_states.empty()) book_idle_states(begin, now);
        ledger_->advance(now, false);
    }
    drained_to_ = now;
    settled_ = now;
    if (p_.thermal.kelvin_per_watt > 0 && now - thermal_at_ >= thermal_step_ns && !held_) heat(now);
}

std::int64_t DriveModel::next_empty(std::int64_t from) const {
    return from + static_cast<std::int64_t>(cache_used_ / p_.cache.drain_bytes_per_second * 1e9);
}

std::int64_t DriveModel::next_idle_event(std::int64_t now) const {
    if (p_.cache.bytes > 0 && cache_used_ > 0) {
        const std::int64_t begins = busy_until_ + p_.cache.idle_before_drain_ns;
        return now < begins ? begins : next_empty(now);
    }
    const std::int64_t quiet = std::max(quiet_since_, busy_until_);
    for (const IdleState& state : p_.power.idle_states)
        if (const std::int64_t entered = quiet + state.idle_ns + state.entry_ns; entered > now) return entered;
    return std::numeric_limits<std::int64_t>::max();
}

std::size_t DriveModel::idle_state(std::int64_t now) const {
    if (now < busy_until_ || cache_used_ > 0) return 0;
    const std::int64_t quiet = std::max(quiet_since_, busy_until_);
    std::size_t index = 0;
    for (const IdleState& state : p_.power.idle_states) {
        if (quiet + state.idle_ns + state.entry_ns > now) break;
        ++index;
    }
    return index;
}

double DriveModel::idle_watt(std::int64_t now) const {
    const std::size_t index = idle_state(now);
    return index == 0 ? p_.power.idle_watt : p_.power.idle_states[index - 1].watt;
}

// When the controller looks at a command that comes at `now` after idle time. An entry that has begun is finished first.
std::int64_t DriveModel::awake_at(std::int64_t now) const {
    if (cache_used_ > 0) return now;
    const std::int64_t quiet = std::max(quiet_since_, busy_until_);
    std::int64_t ready = now;
    for (const IdleState& state : p_.power.idle_states)
        if (now > quiet + state.idle_ns) ready = std::max(now, quiet + state.idle_ns + state.entry_ns) + state.exit_ns;
    return ready;
}

void DriveModel::book_idle_states(std::int64_t from, std::int64_t to) {
    if (cache_used_ > 0) return;
    const std::vector<IdleState>& states = p_.power.idle_states;
    for (std::size_t k = 0; k < states.size(); ++k) {
        const std::int64_t begin = std::max(from, quiet_since_ + states[k].idle_ns + states[k].entry_ns);
        const std::int64_t end =
            k + 1 < states.size() ? std::min(to, quiet_since_ + states[k + 1].idle_ns + states[k + 1].entry_ns) : to;
        if (end > begin) pulse(begin, end, (states[k].watt - p_.power.idle_watt) * 1e-9 * static_cast<double>(end - begin));
    }
}

void DriveModel::heat(std::int64_t now) {
    const double joule = ledger_->energy(now), seconds = 1e-9 * static_cast<double>(now - thermal_at_);
    const double watt = (joule - thermal_joule_) / seconds;
    thermal_joule_ = joule;
    thermal_at_ = now;
    heat_by(seconds, watt);
}

void DriveModel::heat_by(double seconds, double watt) {
    const ThermalParameters& t = p_.thermal;
    const double settled = t.ambient_celsius + t.kelvin_per_watt * watt;
    celsius_ = settled + (celsius_ - settled) * std::exp(-seconds / t.time_constant_seconds);
    if (throttled_ ? celsius_ > t.release_celsius : celsius_ < t.throttle_celsius) return;
    throttled_ = !throttled_;
    set_times();
    note(throttled_ ? Transition::Kind::throttled : Transition::Kind::released);
}

double DriveModel::seconds_to_thermal_event(double watt) const {
    const ThermalParameters& t = p_.thermal;
    if (t.kelvin_per_watt == 0) return HUGE_VAL;
    const double settled = t.ambient_celsius + t.kelvin_per_watt * watt;
    const double goal = throttled_ ? t.release_celsius : t.throttle_celsius;
    if (throttled_ ? settled >= goal : settled <= goal) return HUGE_VAL;
    return std::max(0.0, t.time_constant_seconds * std::log((celsius_ - settled) / (goal - settled)));
}

const char* name(Transition::Kind kind) {
    switch (kind) {
        case Transition::Kind::cache_full: return "cache full";
        case Transition::Kind::folding: return "folding";
        case Transition::Kind::cache_open: return "cache open";
        case Transition::Kind::collection: return "collection";
        case Transition::Kind::throttled: return "throttled";
        case Transition::Kind::released: return "released";
    }
    return "";
}

void DriveModel::note(Transition::Kind kind) {
    ++events_;
    if (transitions_.size() < most_transitions) transitions_.push_back({kind, host_bytes_written()});
}

void DriveModel::look_at_space() {
    const double copies = space_->copies_per_byte();
    if (copies > 0 && copies_per_byte_ == 0) note(Transition::Kind::collection);
    copies_per_byte_ = copies;
    // Folding frees just what the host takes, so the room left stays about where it began: only much of it ends folding.
    const double enough = folding_ ? 0.02 * static_cast<double>(p_.cache.bytes) : 0.0;
    const bool fold = !cache_open_ && cache_used_ > 0 && bytes_to_folding() <= enough;
    if (fold && !folding_) note(Transition::Kind::folding);
    folding_ = fold;
}

double DriveModel::bytes_to_folding() const {
    if (p_.cache.borrowed_bits_per_cell == 0 || !space_) return HUGE_VAL;
    return space_->physical_bytes() - space_->reserve_bytes() - space_->mapped_bytes() -
           (p_.cache.borrowed_bits_per_cell - 1) * cache_used_;
}

double DriveModel::cache_limit() const {
    const auto declared = static_cast<double>(p_.cache.bytes);
    if (p_.cache.borrowed_bits_per_cell == 0 || !space_) return declared;
    return std::clamp(cache_used_ + bytes_to_folding() / (p_.cache.borrowed_bits_per_cell - 1), 0.0, declared);
}

void DriveModel::hold(double copies_per_byte) {
    held_ = true;
    space_.reset();
    copies_per_byte_ = copies_per_byte;
}

void DriveModel::format(std::int64_t now) {
    settle(now);
    if (space_) space_->format();
    copies_per_byte_ = move_debt_ = cache_used_ = 0;
    folding_ = false;
    cache_open_ = true;
    cache_left_at_ = 0;
    transitions_.clear();
    // Programs are counted with the bytes of the buffer, so those go on; what the host wrote begins anew.
    leapt_ = 0 - (accepted_ - rounding_);
}

double DriveModel::idle_drain(std::int64_t now) const {
    if (p_.cache.bytes == 0 || cache_used_ <= 0 || now < busy_until_ + p_.cache.idle_before_drain_ns) return 0;
    return p_.cache.drain_bytes_per_second;
}

void DriveModel::pass_idle(std::int64_t by, double watt, double drained) {
    settled_ += by;
    drained_to_ += by;
    if (drained > 0) quiet_since_ = settled_;
    take_from_cache(drained);
    if (p_.thermal.kelvin_per_watt > 0) {
        thermal_at_ += by;
        thermal_joule_ += watt * 1e-9 * static_cast<double>(by);
        heat_by(1e-9 * static_cast<double>(by), watt);
    }
}

void DriveModel::take_from_cache(double bytes) {
    if (p_.cache.bytes == 0) return;
    cache_used_ = std::clamp(cache_used_ - bytes, 0.0, static_cast<double>(p_.cache.bytes));
    if (cache_used_ < 1) cache_used_ = 0;
    if (!cache_open_ && cache_used_ <= p_.cache.reopen_fraction * static_cast<double>(p_.cache.bytes)) {
        // A cache that borrows flash needs some to borrow.
        if (cache_limit() < cache_used_ + 0.05 * static_cast<double>(p_.cache.bytes)) return;
        cache_open_ = true;
        folding_ = false;
        note(Transition::Kind::cache_open);
    }
}

void DriveModel::leap(std::int64_t by, double watt, double cached, std::uint64_t written) {
    controller_free_ += by;
    link_read_free_ += static_cast<double>(by);
    link_write_free_ += static_cast<double>(by);
    for (Unit& unit : units_) {
        unit.read_free += by;
        unit.program_free += by;
        unit.programs_since += by;
    }
    for (std::int64_t& done : program_done_) done += by;
    all_done_ += by;
    busy_until_ += by;
    drained_to_ += by;
    settled_ += by;
    leapt_ += written;
    take_from_cache(-cached);
    if (p_.thermal.kelvin_per_watt > 0) {
        thermal_at_ += by;
        thermal_joule_ += watt * 1e-9 * static_cast<double>(by);
        heat_by(1e-9 * static_cast<double>(by), watt);
    }
}

}  // namespace wattrig::sim
