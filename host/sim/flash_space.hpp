#pragma once
// Where the data lie on the flash, and what garbage collection has to copy. No map of pages: the flash is 512 segments, the
// drive 256 regions, and of each segment is known how many bytes of each region in it are still valid. A random write to a
// region makes an equal share of all its data invalid, a sequential one that of what it has not passed yet. Write amplification
// comes out of the spare bytes, the victim policy and the order of the writes; nobody declares it. Thread rule: one thread.

#include <cstdint>
#include <vector>

#include "host/sim/drive_parameters.hpp"

namespace wattrig::sim {

class FlashSpace {
  public:
    FlashSpace(std::uint64_t capacity_bytes, const SpaceParameters& parameters);

    void format();
    void write(std::uint64_t offset, std::uint64_t bytes);
    void discard(std::uint64_t offset, std::uint64_t bytes);
    // Many writes at once: `bytes` at random places of [begin, end), or in order from `at` on, round and round.
    void write_random(std::uint64_t begin, std::uint64_t end, double bytes);
    void write_in_order(std::uint64_t begin, std::uint64_t end, std::uint64_t at, double bytes);
    // End of the latest write in [begin, end); `begin` when there was none.
    [[nodiscard]] std::uint64_t latest_end(std::uint64_t begin, std::uint64_t end) const;

    // Bytes copied for each byte written now; 0 while there is erased flash.
    [[nodiscard]] double copies_per_byte() const { return copies_per_byte_; }
    [[nodiscard]] double mapped_bytes() const { return mapped_; }
    [[nodiscard]] double physical_bytes() const { return segment_bytes_ * segments; }
    [[nodiscard]] double reserve_bytes() const { return segment_bytes_ * reserve_; }
    // Bytes that can still be written before segments have to be collected.
    [[nodiscard]] double bytes_to_collection() const;
    // Bytes that can be written at the present price of copies.
    [[nodiscard]] double bytes_at_this_price() const { return segment_bytes_ - filled_[static_cast<std::size_t>(open_)]; }

    static constexpr int segments = 512, regions = 256;

  private:
    struct Region {
        double size = 0;           // bytes
        double mapped = 0;         // bytes that hold data
        std::uint64_t expect = 0;  // end of the last write in it: where a sequential one goes on
        double passed = 0;         // bytes of the pass that is under way
        std::uint64_t turn = 0;    // of the last write
    };
    struct Passing {  // data of a pass: not touched by the rest of that pass
        int segment;
        int region;
        double bytes;
    };
    [[nodiscard]] double& valid(int segment, int region) {
        return valid_[static_cast<std::size_t>(segment) * regions + static_cast<std::size_t>(region)];
    }
    void write_piece(int region, std::uint64_t offset, double bytes);
    void append(int region, double bytes, double alive, bool passing);
    void settle_pass(int region);
    void lose(Region& r, int region, double share);
    void next_segment();
    int open_erased();
    [[nodiscard]] double sum_of_valid(int segment) const;
    [[nodiscard]] int choose_victim() const;

    double segment_bytes_ = 0, region_bytes_ = 0;
    std::uint64_t capacity_;
    int reserve_;
    bool greedy_;
    std::vector<double> valid_;  // bytes / kept of the region, [segment][region]
    std::vector<double> filled_;
    std::vector<std::uint64_t> opened_;  // order in which segments were opened; 0 = erased
    std::vector<double> kept_;           // of each region: of what the tables say, so much is still valid
    std::vector<Region> regions_;
    std::vector<Passing> passing_;
    int open_ = 0, copies_open_ = -1, erased_ = 0;
    std::uint64_t openings_ = 0, turns_ = 0;
    double mapped_ = 0, copies_per_byte_ = 0;
};

}  // namespace wattrig::sim
