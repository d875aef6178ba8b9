#pragma once
// Commands from bulk OUT 2 and their replies for bulk IN 2. What needs hardware goes through Port; what is missing there is
// answered `not_available`.
//
// A frame that is no sound command of this protocol version is counted and gets no reply: its tag cannot be trusted. A sound
// command always gets one, in order, except when reply_slots replies wait already (a host that sends without reading): counted,
// too.
//
// Thread rule: main loop only.

#include <array>
#include <cstdint>
#include <span>

#include "firmware/core/port.hpp"
#include "firmware/core/storage.hpp"
#include "firmware/core/stream.hpp"

namespace wattrig::firmware {

// Delays of 0 to 1000 us, uniform: a host controller that polls at the start of a frame would otherwise always meet the same
// phase of the device's answers, and the bound of the clock map could not shrink below it.
class Dither {
  public:
    explicit Dither(std::uint32_t seed) : state_(seed | 1) {}
    std::uint32_t next_us() {
        // xorshift32 (Marsaglia 2003), any state but 0; its upper half spread over 0..1000.
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        state_ ^= state_ << 5;
        return (state_ >> 16) * 1001u >> 16;
    }

  private:
    std::uint32_t state_;
};

class CommandHandler {
  public:
    static constexpr std::uint32_t reply_slots = 4;

    CommandHandler(const MeterConfig& config, const Port& port, Stream& stream)
        : config_(config),
          port_(port),
          stream_(stream),
          storage_(port, config.info.serial),
          dither_(config.info.boot_id * 2654435761u ^ 0x5eed1e55u) {}

    void on_command(std::uint64_t timer_us, std::span<const std::uint8_t> frame);
    void poll();  // one step of a storage job
    [[nodiscard]] bool reply_pending() const { return replies_used_ > 0; }
    [[nodiscard]] std::uint64_t reply_ready_at() const { return replies_[replies_first_].ready_at; }
    std::size_t take_reply(std::uint64_t timer_us, std::span<std::uint8_t> out);
    [[nodiscard]] std::uint32_t errors() const { return errors_; }

  private:
    static constexpr std::size_t reply_payload_bytes =
        sizeof(protocol::CommandHeader) + sizeof(protocol::StorageSlot) + protocol::maximum_storage_chunk;
    struct Reply {
        std::uint64_t ready_at;  // timer_us
        std::uint16_t payload_bytes;
        bool is_sync;
        alignas(8) std::array<std::uint8_t, reply_payload_bytes> payload;
    };
    // A command's payload behind its CommandHeader.
    using Arguments = std::span<const std::uint8_t>;

    void count_error();
    Reply& new_reply(std::uint64_t timer_us, const protocol::CommandHeader& command, protocol::Status status);
    template <class T>
    void append(Reply& reply, const T& part);
    void answer(std::uint64_t timer_us, const protocol::CommandHeader& command, protocol::Status status);
    template <class T>
    void answer_with(std::uint64_t timer_us, const protocol::CommandHeader& command, const T& part);

    void dispatch(std::uint64_t timer_us, const protocol::CommandHeader& command, Arguments arguments);
    protocol::Status start_stream(std::uint64_t timer_us, Arguments arguments);
    protocol::Status set_detail(Arguments arguments);
    protocol::Status set_drive_power(Arguments arguments);
    protocol::Status set_sync_out(Arguments arguments);
    protocol::Status enter_bootloader(Arguments arguments);
    protocol::Status self_test(protocol::SelfTestReport& report);
    void sync(std::uint64_t timer_us, const protocol::CommandHeader& command, Arguments arguments);
    protocol::Status begin_storage(const protocol::CommandHeader& command, Arguments arguments);

    const MeterConfig& config_;
    const Port& port_;
    Stream& stream_;
    Storage storage_;
    Dither dither_;
    std::array<Reply, reply_slots> replies_{};
    std::uint32_t replies_first_ = 0;
    std::uint32_t replies_used_ = 0;
    std::uint32_t sequence_ = 0;  // of IN 2
    std::uint32_t errors_ = 0;
    protocol::CommandHeader storage_command_{};  // whose job runs
};

}  // namespace wattrig::firmware
