#pragma once
// Where a worker's operations go. The region is cut into whole blocks: a rest at its end smaller than a block is never touched.
//
// Thread rule: io thread, or the event loop; the shared position of `cover` may be used by all workers of a phase at once.

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "host/base/random.hpp"
#include "host/io/operation.hpp"
#include "host/io/workload.hpp"

namespace wattrig::io {

// Position in the coverage order, one per phase: no block comes twice before all workers together have visited each one once.
using CoverPosition = std::atomic<std::uint64_t>;

class AddressGenerator {
  public:
    // `target_size` in bytes; the workload has passed check().
    AddressGenerator(const Workload& workload, std::uint64_t target_size, std::uint32_t worker, CoverPosition& cover);

    // Bytes of the next operation, drawn from the block size split.
    std::uint32_t length() {
        if (sizes_.size() == 1) return sizes_[0].bytes;
        const std::uint64_t draw = random_() >> 32;
        std::size_t i = 0;
        while (draw >= sizes_[i].until) ++i;
        return sizes_[i].bytes;
    }
    // Byte offset for an operation of `length` bytes, from the start of the target.
    std::uint64_t offset(OperationKind kind, std::uint32_t length) {
        if (sequential_) return next_sequential(kind, length);
        if (uniform_) return begin_ + random_.below(blocks_) * unit_;
        return next_random(length);
    }
    // Advances as if so many operations had been asked for: after a leap of a drive model.
    void skip(OperationKind kind, std::uint64_t operations, std::uint64_t bytes);

    // The worker's own part of the region, bytes from the start of the target.
    [[nodiscard]] std::uint64_t begin() const { return begin_; }
    [[nodiscard]] std::uint64_t end() const { return end_; }

  private:
    struct Size {
        std::uint32_t bytes;
        std::uint64_t until;  // of 2^32
    };
    struct Part {
        std::uint64_t until;  // of 2^32
        std::uint64_t begin, end;
    };
    std::uint64_t next_sequential(OperationKind kind, std::uint32_t length);
    std::uint64_t next_random(std::uint32_t length);
    std::uint64_t next_covered();
    [[nodiscard]] std::uint64_t alignment(std::uint32_t length) const;
    std::uint64_t aligned_random(std::uint64_t begin, std::uint64_t end, std::uint32_t length);

    bool sequential_, uniform_ = false;
    std::uint64_t begin_ = 0, end_ = 0;
    std::uint64_t blocks_ = 0;  // whole blocks of `unit_` in the region
    std::uint64_t unit_ = 0;    // largest common divisor of all block sizes
    Random random_;
    std::vector<Size> sizes_;
    std::vector<Part> zones_;
    std::array<std::uint64_t, operation_kinds> next_{};  // sequential: a position for each kind, as fio has for each direction
    CoverPosition& cover_;
    std::optional<Permutation> order_;  // of the round that is being visited
    std::uint64_t order_round_ = 0;
    bool covering_ = false;
    std::uint64_t seed_;
};

}  // namespace wattrig::io
