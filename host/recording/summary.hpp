#pragma once
// power.sum: minimum, mean, maximum and coverage of codes at several resolutions, each 16 times coarser than the one before, so
// that a day can be drawn without reading it. Written beside the recording and rebuilt from it when it is missing, damaged or
// not finished. Format: host/recording/FORMAT.md.
//
// The finest level holds 256 samples an entry (7.9 ms): a level of 16 would cost a quarter of the recording itself. What is
// finer is in the recording, and each entry says where.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/result.hpp"
#include "host/rig/block.hpp"

namespace wattrig::recording {

inline constexpr std::uint64_t summary_base_samples = 256;
inline constexpr std::uint64_t summary_step = 16;
inline constexpr std::size_t summary_levels = 6;  // 256, 4096, 65 536, 1 048 576, 16 777 216, 268 435 456 (2.3 hours)
constexpr std::uint64_t samples_of_level(std::size_t level) { return summary_base_samples << (4 * level); }

// Raw codes; power is the product of the two codes of a sample. Nothing of it means anything when the point's count is 0.
struct SummaryValues {
    std::int32_t v_minimum = 0, v_maximum = 0;
    std::int32_t i_minimum = 0, i_maximum = 0;
    // Of blocks without codes the product's extremes are bounds, not values that occurred.
    std::int64_t p_minimum = 0, p_maximum = 0;
    double v_mean = 0, i_mean = 0, p_mean = 0;
};

// The samples [first_index, first_index + span) of a stream.
struct SummaryPoint {
    std::uint64_t first_index = 0;
    std::uint64_t span = 0;
    std::uint64_t count = 0;  // of them that were received
    // Device time at the begin of first_index's cell; nothing when no sample was received.
    std::optional<DeviceTime> begin;
    std::uint64_t file_offset = 0;  // of a frame in the recording at or before the first received sample
    // At least a part comes from blocks without codes: extremes and means are those of the whole such block (10 ms or 1 s).
    bool coarse = false;
    std::array<SummaryValues, protocol::maximum_rails> rails{};
    [[nodiscard]] double coverage() const { return span == 0 ? 0 : static_cast<double>(count) / static_cast<double>(span); }
};

// A stream whose index starts at 0: one more for each restart of the rig in the recording.
struct SummaryEpoch {
    std::uint32_t boot_id = 0;
    std::uint8_t rails = 1;
    std::uint64_t end_index = 0;  // one behind the last sample
};

// Makes summary frames from blocks; whoever owns it appends them to power.sum. Memory: constant.
// Thread rule: one thread.
class SummaryBuilder {
  public:
    SummaryBuilder();
    ~SummaryBuilder();
    // `file_offset` of the block's frame in power.wrt.
    void add(const rig::BlockView& block, std::uint64_t file_offset);
    // Closes what is open and adds the end frame. `file_bytes` of power.wrt, all of it.
    void finish(std::uint64_t file_bytes);
    // Whole frames that are ready; whoever writes them clears the list.
    [[nodiscard]] std::vector<std::uint8_t>& frames();

  private:
    struct State;
    std::unique_ptr<State> s_;
};

// Read access. Thread rule: const calls from any thread.
class PowerSummary {
  public:
    // Reads the summary beside the recording `path` (power.wrt -> power.sum), and rebuilds it first when it has to. bad_input
    // or system when the recording cannot be read or the summary not be written.
    static Result<PowerSummary> open(const std::string& path);
    PowerSummary(PowerSummary&&) noexcept;
    PowerSummary& operator=(PowerSummary&&) noexcept;
    ~PowerSummary();

    [[nodiscard]] const std::vector<SummaryEpoch>& epochs() const;
    [[nodiscard]] bool rebuilt() const;
    // Points of `samples_per_point` samples (rounded up to a multiple of 256), from the one that holds `first` to the one that
    // holds `last - 1`, without holes: where nothing was received a point has count 0. Reads only what the range needs. More
    // than 4 million points are never made: they become longer instead.
    [[nodiscard]] std::vector<SummaryPoint> read(std::size_t epoch, std::uint64_t first, std::uint64_t last,
                                                 std::uint64_t samples_per_point) const;

  private:
    struct State;
    explicit PowerSummary(std::unique_ptr<State> state);
    std::unique_ptr<State> s_;
};

}  // namespace wattrig::recording
