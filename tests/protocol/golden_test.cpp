// The bytes of version 1, for ever. If one of these fails, change the code, not the test: recordings and rigs out there hold
// them. They were computed from PROTOCOL.md by make_golden.py, which shares no code with what is tested.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include "firmware/core/meter.hpp"
#include "firmware/protocol/frame.hpp"

namespace {

using namespace wattrig::protocol;
using wattrig::firmware::AdcSample;
using wattrig::firmware::Meter;
using wattrig::firmware::MeterConfig;
using Bytes = std::vector<std::uint8_t>;

// clang-format off
constexpr std::string_view start_stream_command = R"(
    57 54 52 31 ; magic
    01 ; version
    04 ; type
    0c 00 ; payload_bytes 12
    05 00 00 00 ; sequence
    00 00 ; reserved
    f3 4b ; header_check
    02 00 ; id 2
    34 12 ; tag 4660
    00 00 ; status 0
    00 00 ; reserved 0
    01 ; rails 1
    00 ; detail 0
    00 00 ; reserved 0
    bb a4 ba 9b ; CRC32C
)";

constexpr std::string_view start_stream_reply = R"(
    57 54 52 31 ; magic
    01 ; version
    05 ; type
    08 00 ; payload_bytes 8
    00 00 00 00 ; sequence
    00 00 ; reserved
    b8 43 ; header_check
    02 00 ; id 2
    34 12 ; tag 4660
    00 00 ; status 0
    00 00 ; reserved 0
    59 a5 16 03 ; CRC32C
)";

constexpr std::string_view unknown_command_reply = R"(
    57 54 52 31 ; magic
    01 ; version
    05 ; type
    08 00 ; payload_bytes 8
    01 00 00 00 ; sequence
    00 00 ; reserved
    a1 28 ; header_check
    77 77 ; id 30583
    01 00 ; tag 1
    01 00 ; status 1
    00 00 ; reserved 0
    ce f6 57 6c ; CRC32C
)";

constexpr std::string_view sync_reply = R"(
    57 54 52 31 ; magic
    01 ; version
    05 ; type
    30 00 ; payload_bytes 48
    00 00 00 00 ; sequence
    00 00 ; reserved
    4f 2b ; header_check
    04 00 ; id 4
    cd ab ; tag 43981
    00 00 ; status 0
    00 00 ; reserved 0
    2a 00 00 00 ; exchange 42
    00 00 00 00 ; reserved 0
    7c 2a e7 84 91 00 00 00 ; received 625000000124
    6c 06 ea 84 91 00 00 00 ; armed 625000187500
    b8 41 e5 84 91 00 00 00 ; frame_time 624999875000
    09 03 00 00 ; frame_number 777
    00 00 00 00 ; reserved2 0
    48 e7 2a 2e ; CRC32C
)";

constexpr std::string_view block_of_three = R"(
    57 54 52 31 ; magic
    01 ; version
    01 ; type
    f8 00 ; payload_bytes 248
    00 00 00 00 ; sequence
    00 00 ; reserved
    f0 b0 ; header_check
    00 00 00 00 00 00 00 00 ; first_index 0
    6d d2 01 00 00 00 00 00 ; first_time 119405
    00 00 00 00 00 00 00 00 ; lost_samples 0
    07 b0 00 00 ; boot_id 45063
    01 00 00 00 ; segment 1
    03 00 00 00 ; span 3
    03 00 00 00 ; count 3
    06 00 00 80 ; flags 2147483654
    00 00 00 00 ; lost_blocks 0
    00 00 00 00 ; adc_crc_errors 0
    00 00 00 00 ; peak_overruns 0
    00 00 00 00 ; slow_errors 0
    01 00 00 00 ; command_errors 1
    d0 09 ; shunt_temperature 2512
    6a ff ; board_temperature -150
    01 ; rails 1
    00 ; detail 0
    7f ; sideband_low 127
    a1 ; sideband_high 161
    03 00 00 00 00 00 00 00 ; count 3
    c0 e1 e4 00 00 00 00 00 ; sum_v
    fe ff ff ff ff ff ff ff ; sum_i
    7f 69 67 00 00 00 00 00 00 00 00 00 00 00 00 00 ; sum_vi
    02 00 00 ff ff 7f 00 00 00 00 00 00 00 00 00 00 ; sum_ii
    3f 4b 4c 00 ; v_minimum 4999999
    41 4b 4c 00 ; v_maximum 5000001
    00 00 80 ff ; i_minimum -8388608
    ff ff 7f 00 ; i_maximum 8388607
    00 00 00 00 00 00 00 00 ; slow sum 0
    00 00 00 00 00 00 00 00 ; fast_sum 0
    00 00 00 00 ; count 0
    00 00 00 00 ; fast_count 0
    8d aa 13 03 00 00 00 80 00 00 00 80 00 00 00 80 00 00 00 80 00 00 00 80 00 00 00 80 00 00 00 80 ; group_maximum 51620493, none x 7
    8d aa 13 03 ; maximum 51620493
    1d 00 ; maximum_at 29
    00 00 ; minimum_reading 0
    54 0b ; maximum_reading 2900
    00 00 ; reserved 0
    1e 00 00 00 ; readings 30
    ec a9 00 00 ; sum_low 43500
    00 00 00 00 ; zeros
    40 4b 4c 41 4b 4c 3f 4b 4c ; V codes
    ff ff ff ff ff 7f 00 00 80 ; I codes
    81 80 a0 ; side-band bytes
    00 00 00 ; padding
    78 06 33 fb ; CRC32C
)";

constexpr std::string_view summary_of_300 = R"(
    57 54 52 31 ; magic
    01 ; version
    02 ; type
    28 01 ; payload_bytes 296
    00 00 00 00 ; sequence
    00 00 ; reserved
    f3 c4 ; header_check
    00 00 00 00 00 00 00 00 ; first_index 0
    f5 d1 01 00 00 00 00 00 ; first_time 119285
    00 00 00 00 00 00 00 00 ; lost_samples 0
    07 b0 00 00 ; boot_id 45063
    01 00 00 00 ; segment 1
    2c 01 00 00 ; span 300
    2c 01 00 00 ; count 300
    04 00 00 80 ; flags 2147483652
    00 00 00 00 ; lost_blocks 0
    00 00 00 00 ; adc_crc_errors 0
    00 00 00 00 ; peak_overruns 0
    00 00 00 00 ; slow_errors 0
    00 00 00 00 ; command_errors 0
    00 00 ; shunt_temperature 0
    00 00 ; board_temperature 0
    02 ; rails 2
    01 ; detail 1
    7f ; sideband_low 127
    80 ; sideband_high 128
    2c 01 00 00 00 00 00 00 ; count 300
    00 d2 49 6b 00 00 00 00 ; sum_v
    00 46 c3 23 00 00 00 00 ; sum_i
    00 00 31 51 2e ca 0c 00 00 00 00 00 00 00 00 00 ; sum_vi
    00 00 bb c5 64 43 04 00 00 00 00 00 00 00 00 00 ; sum_ii
    80 8d 5b 00 ; v_minimum 6000000
    80 8d 5b 00 ; v_maximum 6000000
    80 84 1e 00 ; i_minimum 2000000
    80 84 1e 00 ; i_maximum 2000000
    2c 01 00 00 00 00 00 00 ; count 300
    7c fc ff ff ff ff ff ff ; sum_v
    50 fb ff ff ff ff ff ff ; sum_i
    10 0e 00 00 00 00 00 00 00 00 00 00 00 00 00 00 ; sum_vi
    c0 12 00 00 00 00 00 00 00 00 00 00 00 00 00 00 ; sum_ii
    fd ff ff ff ; v_minimum -3
    fd ff ff ff ; v_maximum -3
    fc ff ff ff ; i_minimum -4
    fc ff ff ff ; i_maximum -4
    00 00 00 00 00 00 00 00 ; slow sum 0
    00 00 00 00 00 00 00 00 ; fast_sum 0
    00 00 00 00 ; count 0
    00 00 00 00 ; fast_count 0
    00 00 00 80 00 00 00 80 00 00 00 80 00 00 00 80 00 00 00 80 00 00 00 80 00 00 00 80 00 00 00 80 ; group_maximum none x 8
    00 00 00 80 ; maximum -2147483648
    00 00 ; maximum_at 0
    00 00 ; minimum_reading 0
    00 00 ; maximum_reading 0
    00 00 ; reserved 0
    00 00 00 00 ; readings 0
    00 00 00 00 ; sum_low 0
    00 00 00 00 ; zeros
    8d 13 85 74 ; CRC32C
)";

// clang-format on

// Pairs of hexadecimal digits; from ';' to the end of the line is comment.
Bytes from_hex(std::string_view text) {
    Bytes bytes;
    int high = -1;
    bool comment = false;
    for (const char c : text) {
        if (c == ';') comment = true;
        if (c == '\n') comment = false;
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (comment || digit < 0) continue;
        if (high < 0) {
            high = digit;
        } else {
            bytes.push_back(static_cast<std::uint8_t>(high * 16 + digit));
            high = -1;
        }
    }
    return bytes;
}

template <class... Parts>
Bytes command(std::uint32_t sequence, std::uint16_t id, std::uint16_t tag, const Parts&... parts) {
    Bytes frame(sizeof(FrameHeader));
    const auto append = [&frame](const auto& part) {
        frame.resize(frame.size() + sizeof part);
        store(frame.data() + frame.size() - sizeof part, part);
    };
    append(CommandHeader{id, tag, 0, 0});
    (append(parts), ...);
    const std::size_t payload = frame.size() - sizeof(FrameHeader);
    frame.resize(frame_bytes(payload));
    seal_frame(frame.data(), FrameType::command, payload, sequence);
    return frame;
}

class Golden : public testing::Test {
  protected:
    static MeterConfig config() {
        MeterConfig config{};
        config.info.boot_id = 0xb007;
        config.info.rails = 2;
        config.peak_zero_reading = 2176;  // 8.5
        config.always_flags = block_simulated;
        return config;
    }
    Bytes reply(std::uint64_t timer_us) {
        Bytes out(maximum_frame_bytes);
        out.resize(meter_->take_reply(timer_us, out));
        return out;
    }
    Bytes stop_and_fetch() {
        meter_->on_command(2000, command(0, 3, 0));
        const auto frame = meter_->front_frame();
        return {frame.begin(), frame.end()};
    }
    std::unique_ptr<Meter> meter_ = std::make_unique<Meter>(config());
};

TEST_F(Golden, Version) {
    EXPECT_EQ(protocol_version, 1);
    EXPECT_EQ(from_hex(start_stream_command)[4], 1);
}

TEST_F(Golden, Command) { EXPECT_EQ(command(5, 2, 0x1234, StartStream{1, 0, 0}), from_hex(start_stream_command)); }

TEST_F(Golden, Reply) {
    meter_->on_command(100, from_hex(start_stream_command));
    EXPECT_EQ(reply(100), from_hex(start_stream_reply));
    meter_->on_command(100, command(0, 0x7777, 1));
    EXPECT_EQ(reply(100), from_hex(unknown_command_reply));
}

TEST_F(Golden, SyncReply) {
    meter_->on_frame_start(4'999'999'000, 777);
    meter_->on_command(5'000'000'000, command(0, 4, 0xabcd, SyncRequest{42, 0}));
    EXPECT_EQ(reply(5'000'001'500), from_hex(sync_reply));
}

TEST_F(Golden, Block) {
    meter_->on_command(900, from_hex(start_stream_command));
    meter_->on_command(901, command(0, 0x7777, 1));  // one command error
    meter_->set_board_temperature(-150);
    meter_->on_slow_conversion(1, 2512);  // too early for a sum, but the temperature is told
    meter_->on_adc_sample(1000, {{5'000'000, 0}, {-1, 0}, 0x81});
    meter_->on_adc_sample(1031, {{5'000'001, 0}, {8'388'607, 0}, 0x80});
    std::vector<std::uint16_t> readings(30);
    for (std::size_t n = 0; n < readings.size(); ++n) readings[n] = static_cast<std::uint16_t>(100 * n);
    meter_->on_peak_readings(std::span(readings).first(24));
    meter_->on_peak_readings(std::span(readings).subspan(24));
    meter_->on_adc_sample(1062, {{4'999'999, 0}, {-8'388'608, 0}, 0xa0});
    EXPECT_EQ(stop_and_fetch(), from_hex(block_of_three));
}

TEST_F(Golden, Summary) {
    meter_->on_command(900, command(0, 2, 1, StartStream{2, 1, 0}));
    for (std::uint64_t n = 0; n < 300; ++n) {
        meter_->on_adc_sample(1000 + n * 768 / 25, {{6'000'000, -3}, {2'000'000, -4}, 0x80});
    }
    const auto frame = meter_->front_frame();
    EXPECT_EQ(Bytes(frame.begin(), frame.end()), from_hex(summary_of_300));
}

}  // namespace
