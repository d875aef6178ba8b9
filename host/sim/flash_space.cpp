#include "host/sim/flash_space.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>

namespace wattrig::sim {

FlashSpace::FlashSpace(std::uint64_t capacity_bytes, const SpaceParameters& parameters)
    : region_bytes_(std::ceil(static_cast<double>(capacity_bytes) / regions)),
      capacity_(capacity_bytes),
      reserve_(std::max(3, static_cast<int>(std::lround(parameters.reserve_fraction * segments)))),
      greedy_(parameters.victim == "greedy"),
      valid_(static_cast<std::size_t>(segments) * regions),
      filled_(segments),
      opened_(segments),
      regions_(regions) {
    segment_bytes_ = static_cast<double>(capacity_bytes) * (1 + parameters.spare_fraction) / segments;
    format();
}

void FlashSpace::format() {
    std::fill(valid_.begin(), valid_.end(), 0.0);
    std::fill(filled_.begin(), filled_.end(), 0.0);
    std::fill(opened_.begin(), opened_.end(), std::uint64_t{0});
    kept_.assign(regions, 1.0);
    for (int k = 0; k < regions; ++k) {
        const double begin = region_bytes_ * k;
        regions_[static_cast<std::size_t>(k)] = {};
        regions_[static_cast<std::size_t>(k)].size = std::clamp(static_cast<double>(capacity_) - begin, 1.0, region_bytes_);
    }
    passing_.clear();
    openings_ = 1;
    turns_ = 0;
    open_ = 0;
    copies_open_ = -1;
    opened_[0] = 1;
    erased_ = segments - 1;
    mapped_ = copies_per_byte_ = 0;
}

void FlashSpace::lose(Region& r, int region, double share) {
    mapped_ -= r.mapped * share;
    r.mapped -= r.mapped * share;
    kept_[static_cast<std::size_t>(region)] *= 1 - share;
    if (kept_[static_cast<std::size_t>(region)] > 1e-9) return;
    // So that the tables stay in range.
    for (int segment = 0; segment < segments; ++segment) valid(segment, region) *= kept_[static_cast<std::size_t>(region)];
    kept_[static_cast<std::size_t>(region)] = 1;
}

// What a pass has written becomes ordinary data of its region.
void FlashSpace::settle_pass(int region) {
    for (std::size_t k = 0; k < passing_.size();) {
        const Passing piece = passing_[k];
        if (piece.region != region) {
            ++k;
            continue;
        }
        valid(piece.segment, region) += piece.bytes / kept_[static_cast<std::size_t>(region)];
        passing_[k] = passing_.back();
        passing_.pop_back();
    }
    regions_[static_cast<std::size_t>(region)].passed = 0;
}

// `alive`: share of it that is still valid at once.
void FlashSpace::append(int region, double bytes, double alive, bool passing) {
    while (bytes > 0) {
        if (filled_[static_cast<std::size_t>(open_)] >= segment_bytes_ * (1 - 1e-12)) next_segment();
        double& filled = filled_[static_cast<std::size_t>(open_)];
        const double piece = std::min(bytes, segment_bytes_ - filled);
        filled += piece;
        bytes -= piece;
        if (!passing) {
            valid(open_, region) += piece * alive / kept_[static_cast<std::size_t>(region)];
            continue;
        }
        const auto at = std::find_if(passing_.begin(), passing_.end(),
                                     [&](const Passing& p) { return p.segment == open_ && p.region == region; });
        if (at != passing_.end())
            at->bytes += piece;
        else
            passing_.push_back({open_, region, piece});
    }
}

void FlashSpace::write_piece(int region, std::uint64_t offset, double bytes) {
    Region& r = regions_[static_cast<std::size_t>(region)];
    r.turn = ++turns_;
    const bool goes_on = offset == r.expect && r.passed > 0;
    if (!goes_on && r.passed > 0) settle_pass(region);
    // The data of the pass are counted in mapped, but do not get lost by the rest of it.
    const double old = r.mapped - r.passed, left = r.size - r.passed;
    const double share = left > bytes ? bytes / left : 1.0;
    const double lost = old * share;
    if (r.mapped > 0) {
        mapped_ -= lost;
        r.mapped -= lost;
        kept_[static_cast<std::size_t>(region)] *= 1 - share;
        if (kept_[static_cast<std::size_t>(region)] <= 1e-9) {
            for (int segment = 0; segment < segments; ++segment)
                valid(segment, region) *= kept_[static_cast<std::size_t>(region)];
            kept_[static_cast<std::size_t>(region)] = 1;
        }
    }
    r.mapped += bytes;
    mapped_ += bytes;
    r.passed += bytes;
    r.expect = offset + static_cast<std::uint64_t>(bytes);
    append(region, bytes, 1, true);
    if (r.passed >= r.size * (1 - 1e-9)) settle_pass(region);
}

void FlashSpace::write(std::uint64_t offset, std::uint64_t bytes) {
    while (bytes > 0) {
        const int region = std::min(regions - 1, static_cast<int>(static_cast<double>(offset) / region_bytes_));
        const auto end = static_cast<std::uint64_t>(region_bytes_) * static_cast<std::uint64_t>(region + 1);
        const std::uint64_t piece = region == regions - 1 || end <= offset ? bytes : std::min(bytes, end - offset);
        write_piece(region, offset, static_cast<double>(piece));
        offset += piece;
        bytes -= piece;
    }
}

void FlashSpace::discard(std::uint64_t offset, std::uint64_t bytes) {
    const double begin = static_cast<double>(offset), end = begin + static_cast<double>(bytes);
    for (int region = 0; region < regions; ++region) {
        const double from = std::max(begin, region_bytes_ * region), to = std::min(end, region_bytes_ * (region + 1));
        if (to <= from) continue;
        Region& r = regions_[static_cast<std::size_t>(region)];
        settle_pass(region);
        lose(r, region, std::min(1.0, (to - from) / r.size));
    }
}

void FlashSpace::write_random(std::uint64_t begin, std::uint64_t end, double bytes) {
    const double span = static_cast<double>(end - begin);
    // In steps that none of the segments' states changes much in.
    while (bytes > 0) {
        const double step = std::min({bytes, segment_bytes_ / 8, span / 8});
        bytes -= step;
        for (int region = 0; region < regions; ++region) {
            const double from = std::max(static_cast<double>(begin), region_bytes_ * region);
            const double to = std::min(static_cast<double>(end), region_bytes_ * (region + 1));
            if (to <= from) continue;
            Region& r = regions_[static_cast<std::size_t>(region)];
            if (r.passed > 0) settle_pass(region);
            const double part = step * (to - from) / span;
            const double share = -std::expm1(-part / r.size);
            lose(r, region, share);
            const double alive = r.size * share;  // the rest was overwritten within the step, but took its room
            r.mapped += alive;
            mapped_ += alive;
            append(region, part, alive / part, false);
        }
    }
}

void FlashSpace::write_in_order(std::uint64_t begin, std::uint64_t end, std::uint64_t at, double bytes) {
    auto left = static_cast<std::uint64_t>(bytes);
    if (at < begin || at >= end) at = begin;
    while (left > 0) {
        const std::uint64_t piece = std::min(left, end - at);
        write(at, piece);
        left -= piece;
        at = at + piece >= end ? begin : at + piece;
    }
}

std::uint64_t FlashSpace::latest_end(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t turn = 0, at = begin;
    for (const Region& r : regions_)
        if (r.turn > turn && r.expect > begin && r.expect <= end) {
            turn = r.turn;
            at = r.expect;
        }
    return at;
}

double FlashSpace::bytes_to_collection() const {
    return bytes_at_this_price() + segment_bytes_ * std::max(0, erased_ - reserve_);
}

// Bytes of a segment that are still valid, those of passes left out. Done for all segments at each collection.
double FlashSpace::sum_of_valid(int segment) const {
    constexpr std::size_t lanes = 8;  // side by side, as one sum could not be
    std::array<double, lanes> sums{};
    const double* row = &valid_[static_cast<std::size_t>(segment) * regions];
    for (std::size_t region = 0; region < regions; region += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += row[region + lane] * kept_[region + lane];
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

int FlashSpace::open_erased() {
    assert(erased_ > 0);
    const auto at = std::find(opened_.begin(), opened_.end(), std::uint64_t{0});
    *at = ++openings_;
    --erased_;
    return static_cast<int>(at - opened_.begin());
}

// Another segment for the host, and collection for as long as too few are erased. What is copied goes to a segment of its own:
// it is old data, which shall not keep segments of new data from becoming empty.
void FlashSpace::next_segment() {
    open_ = open_erased();
    double copied = 0, won = 0;
    while (erased_ < reserve_) {
        const int victim = choose_victim();
        for (std::size_t k = 0; k < passing_.size(); ++k)
            if (passing_[k].segment == victim) {
                const Passing piece = passing_[k];
                valid(victim, piece.region) += piece.bytes / kept_[static_cast<std::size_t>(piece.region)];
                passing_[k--] = passing_.back();
                passing_.pop_back();
            }
        const double total = sum_of_valid(victim);
        copied += total;
        won += segment_bytes_ - total;
        double left = 1;  // of the victim's valid data
        while (total * left > segment_bytes_ * 1e-9) {
            if (copies_open_ < 0 || filled_[static_cast<std::size_t>(copies_open_)] >= segment_bytes_ * (1 - 1e-9))
                copies_open_ = open_erased();
            double& filled = filled_[static_cast<std::size_t>(copies_open_)];
            const double share = std::min(left, (segment_bytes_ - filled) / total);
            for (int region = 0; region < regions; ++region) valid(copies_open_, region) += valid(victim, region) * share;
            filled += total * share;
            left -= share;
        }
        for (int region = 0; region < regions; ++region) valid(victim, region) = 0;
        filled_[static_cast<std::size_t>(victim)] = 0;
        opened_[static_cast<std::size_t>(victim)] = 0;
        ++erased_;
        // Nothing to be won: the drive is full of valid data up to its last segment.
        if (total >= segment_bytes_ * 0.9999) break;
    }
    copies_per_byte_ = won > 0 ? copied / won : 0;
}

// Greedy: the fewest valid bytes. Oldest: as a ring would.
int FlashSpace::choose_victim() const {
    int best = -1;
    double least = 0;
    for (int segment = 0; segment < segments; ++segment) {
        const auto index = static_cast<std::size_t>(segment);
        if (opened_[index] == 0 || segment == open_ || segment == copies_open_) continue;
        double measure = static_cast<double>(opened_[index]);
        if (greedy_) {
            measure = sum_of_valid(segment);
            for (const Passing& piece : passing_)
                if (piece.segment == segment) measure += piece.bytes;
        }
        if (best < 0 || measure < least) {
            best = segment;
            least = measure;
        }
    }
    return best;
}

}  // namespace wattrig::sim
