// PROTOCOL.md must say what protocol.hpp says. Three sources are compared: the document's tables, the compiler's view of the
// header (the lists below), and the header's text, so that something new in the header cannot be forgotten in both of the
// others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "firmware/protocol/protocol.hpp"

namespace {

namespace p = wattrig::protocol;

struct Field {
    std::string structure, name;
    std::size_t offset, size, structure_size;
};
struct Value {
    std::string group, name;  // group: the enumeration, empty for a constant
    long long value;
};
template <class T>
constexpr long long value_of(T value) {
    if constexpr (std::is_enum_v<T>)
        return static_cast<long long>(static_cast<std::underlying_type_t<T>>(value));
    else
        return static_cast<long long>(value);
}

const std::vector<Field> compiled_fields = {
    {"FrameHeader", "magic", offsetof(p::FrameHeader, magic), sizeof(p::FrameHeader::magic), sizeof(p::FrameHeader)},
    {"FrameHeader", "version", offsetof(p::FrameHeader, version), sizeof(p::FrameHeader::version), sizeof(p::FrameHeader)},
    {"FrameHeader", "type", offsetof(p::FrameHeader, type), sizeof(p::FrameHeader::type), sizeof(p::FrameHeader)},
    {"FrameHeader", "payload_bytes", offsetof(p::FrameHeader, payload_bytes), sizeof(p::FrameHeader::payload_bytes),
     sizeof(p::FrameHeader)},
    {"FrameHeader", "sequence", offsetof(p::FrameHeader, sequence), sizeof(p::FrameHeader::sequence), sizeof(p::FrameHeader)},
    {"FrameHeader", "reserved", offsetof(p::FrameHeader, reserved), sizeof(p::FrameHeader::reserved), sizeof(p::FrameHeader)},
    {"FrameHeader", "header_check", offsetof(p::FrameHeader, header_check), sizeof(p::FrameHeader::header_check),
     sizeof(p::FrameHeader)},
    {"Int128", "low", offsetof(p::Int128, low), sizeof(p::Int128::low), sizeof(p::Int128)},
    {"Int128", "high", offsetof(p::Int128, high), sizeof(p::Int128::high), sizeof(p::Int128)},
    {"BlockHeader", "first_index", offsetof(p::BlockHeader, first_index), sizeof(p::BlockHeader::first_index),
     sizeof(p::BlockHeader)},
    {"BlockHeader", "first_time", offsetof(p::BlockHeader, first_time), sizeof(p::BlockHeader::first_time),
     sizeof(p::BlockHeader)},
    {"BlockHeader", "lost_samples", offsetof(p::BlockHeader, lost_samples), sizeof(p::BlockHeader::lost_samples),
     sizeof(p::BlockHeader)},
    {"BlockHeader", "boot_id", offsetof(p::BlockHeader, boot_id), sizeof(p::BlockHeader::boot_id), sizeof(p::BlockHeader)},
    {"BlockHeader", "segment", offsetof(p::BlockHeader, segment), sizeof(p::BlockHeader::segment), sizeof(p::BlockHeader)},
    {"BlockHeader", "span", offsetof(p::BlockHeader, span), sizeof(p::BlockHeader::span), sizeof(p::BlockHeader)},
    {"BlockHeader", "count", offsetof(p::BlockHeader, count), sizeof(p::BlockHeader::count), sizeof(p::BlockHeader)},
    {"BlockHeader", "flags", offsetof(p::BlockHeader, flags), sizeof(p::BlockHeader::flags), sizeof(p::BlockHeader)},
    {"BlockHeader", "lost_blocks", offsetof(p::BlockHeader, lost_blocks), sizeof(p::BlockHeader::lost_blocks),
     sizeof(p::BlockHeader)},
    {"BlockHeader", "adc_crc_errors", offsetof(p::BlockHeader, adc_crc_errors), sizeof(p::BlockHeader::adc_crc_errors),
     sizeof(p::BlockHeader)},
    {"BlockHeader", "peak_overruns", offsetof(p::BlockHeader, peak_overruns), sizeof(p::BlockHeader::peak_overruns),
     sizeof(p::BlockHeader)},
    {"BlockHeader", "slow_errors", offsetof(p::BlockHeader, slow_errors), sizeof(p::BlockHeader::slow_errors),
     sizeof(p::BlockHeader)},
    {"BlockHeader", "command_errors", offsetof(p::BlockHeader, command_errors), sizeof(p::BlockHeader::command_errors),
     sizeof(p::BlockHeader)},
    {"BlockHeader", "shunt_temperature", offsetof(p::BlockHeader, shunt_temperature), sizeof(p::BlockHeader::shunt_temperature),
     sizeof(p::BlockHeader)},
    {"BlockHeader", "board_temperature", offsetof(p::BlockHeader, board_temperature), sizeof(p::BlockHeader::board_temperature),
     sizeof(p::BlockHeader)},
    {"BlockHeader", "rails", offsetof(p::BlockHeader, rails), sizeof(p::BlockHeader::rails), sizeof(p::BlockHeader)},
    {"BlockHeader", "detail", offsetof(p::BlockHeader, detail), sizeof(p::BlockHeader::detail), sizeof(p::BlockHeader)},
    {"BlockHeader", "sideband_low", offsetof(p::BlockHeader, sideband_low), sizeof(p::BlockHeader::sideband_low),
     sizeof(p::BlockHeader)},
    {"BlockHeader", "sideband_high", offsetof(p::BlockHeader, sideband_high), sizeof(p::BlockHeader::sideband_high),
     sizeof(p::BlockHeader)},
    {"RailSums", "count", offsetof(p::RailSums, count), sizeof(p::RailSums::count), sizeof(p::RailSums)},
    {"RailSums", "sum_v", offsetof(p::RailSums, sum_v), sizeof(p::RailSums::sum_v), sizeof(p::RailSums)},
    {"RailSums", "sum_i", offsetof(p::RailSums, sum_i), sizeof(p::RailSums::sum_i), sizeof(p::RailSums)},
    {"RailSums", "sum_vi", offsetof(p::RailSums, sum_vi), sizeof(p::RailSums::sum_vi), sizeof(p::RailSums)},
    {"RailSums", "sum_ii", offsetof(p::RailSums, sum_ii), sizeof(p::RailSums::sum_ii), sizeof(p::RailSums)},
    {"RailExtremes", "v_minimum", offsetof(p::RailExtremes, v_minimum), sizeof(p::RailExtremes::v_minimum),
     sizeof(p::RailExtremes)},
    {"RailExtremes", "v_maximum", offsetof(p::RailExtremes, v_maximum), sizeof(p::RailExtremes::v_maximum),
     sizeof(p::RailExtremes)},
    {"RailExtremes", "i_minimum", offsetof(p::RailExtremes, i_minimum), sizeof(p::RailExtremes::i_minimum),
     sizeof(p::RailExtremes)},
    {"RailExtremes", "i_maximum", offsetof(p::RailExtremes, i_maximum), sizeof(p::RailExtremes::i_maximum),
     sizeof(p::RailExtremes)},
    {"SlowSums", "sum", offsetof(p::SlowSums, sum), sizeof(p::SlowSums::sum), sizeof(p::SlowSums)},
    {"SlowSums", "fast_sum", offsetof(p::SlowSums, fast_sum), sizeof(p::SlowSums::fast_sum), sizeof(p::SlowSums)},
    {"SlowSums", "count", offsetof(p::SlowSums, count), sizeof(p::SlowSums::count), sizeof(p::SlowSums)},
    {"SlowSums", "fast_count", offsetof(p::SlowSums, fast_count), sizeof(p::SlowSums::fast_count), sizeof(p::SlowSums)},
    {"PeakSummary", "group_maximum", offsetof(p::PeakSummary, group_maximum), sizeof(p::PeakSummary::group_maximum),
     sizeof(p::PeakSummary)},
    {"PeakSummary", "maximum", offsetof(p::PeakSummary, maximum), sizeof(p::PeakSummary::maximum), sizeof(p::PeakSummary)},
    {"PeakSummary", "maximum_at", offsetof(p::PeakSummary, maximum_at), sizeof(p::PeakSummary::maximum_at),
     sizeof(p::PeakSummary)},
    {"PeakSummary", "minimum_reading", offsetof(p::PeakSummary, minimum_reading), sizeof(p::PeakSummary::minimum_reading),
     sizeof(p::PeakSummary)},
    {"PeakSummary", "maximum_reading", offsetof(p::PeakSummary, maximum_reading), sizeof(p::PeakSummary::maximum_reading),
     sizeof(p::PeakSummary)},
    {"PeakSummary", "reserved", offsetof(p::PeakSummary, reserved), sizeof(p::PeakSummary::reserved), sizeof(p::PeakSummary)},
    {"PeakSummary", "readings", offsetof(p::PeakSummary, readings), sizeof(p::PeakSummary::readings), sizeof(p::PeakSummary)},
    {"PeakSummary", "sum_low", offsetof(p::PeakSummary, sum_low), sizeof(p::PeakSummary::sum_low), sizeof(p::PeakSummary)},
    {"RailPart", "sums", offsetof(p::RailPart, sums), sizeof(p::RailPart::sums), sizeof(p::RailPart)},
    {"RailPart", "extremes", offsetof(p::RailPart, extremes), sizeof(p::RailPart::extremes), sizeof(p::RailPart)},
    {"CommandHeader", "id", offsetof(p::CommandHeader, id), sizeof(p::CommandHeader::id), sizeof(p::CommandHeader)},
    {"CommandHeader", "tag", offsetof(p::CommandHeader, tag), sizeof(p::CommandHeader::tag), sizeof(p::CommandHeader)},
    {"CommandHeader", "status", offsetof(p::CommandHeader, status), sizeof(p::CommandHeader::status), sizeof(p::CommandHeader)},
    {"CommandHeader", "reserved", offsetof(p::CommandHeader, reserved), sizeof(p::CommandHeader::reserved),
     sizeof(p::CommandHeader)},
    {"Info", "board_id", offsetof(p::Info, board_id), sizeof(p::Info::board_id), sizeof(p::Info)},
    {"Info", "firmware_version", offsetof(p::Info, firmware_version), sizeof(p::Info::firmware_version), sizeof(p::Info)},
    {"Info", "boot_id", offsetof(p::Info, boot_id), sizeof(p::Info::boot_id), sizeof(p::Info)},
    {"Info", "shunt_micro_ohm", offsetof(p::Info, shunt_micro_ohm), sizeof(p::Info::shunt_micro_ohm), sizeof(p::Info)},
    {"Info", "protocol_version", offsetof(p::Info, protocol_version), sizeof(p::Info::protocol_version), sizeof(p::Info)},
    {"Info", "rails", offsetof(p::Info, rails), sizeof(p::Info::rails), sizeof(p::Info)},
    {"Info", "has_peak_path", offsetof(p::Info, has_peak_path), sizeof(p::Info::has_peak_path), sizeof(p::Info)},
    {"Info", "has_slow_path", offsetof(p::Info, has_slow_path), sizeof(p::Info::has_slow_path), sizeof(p::Info)},
    {"Info", "has_power_switch", offsetof(p::Info, has_power_switch), sizeof(p::Info::has_power_switch), sizeof(p::Info)},
    {"Info", "streaming", offsetof(p::Info, streaming), sizeof(p::Info::streaming), sizeof(p::Info)},
    {"Info", "reset_cause", offsetof(p::Info, reset_cause), sizeof(p::Info::reset_cause), sizeof(p::Info)},
    {"Info", "reserved", offsetof(p::Info, reserved), sizeof(p::Info::reserved), sizeof(p::Info)},
    {"Info", "now", offsetof(p::Info, now), sizeof(p::Info::now), sizeof(p::Info)},
    {"Info", "serial", offsetof(p::Info, serial), sizeof(p::Info::serial), sizeof(p::Info)},
    {"StartStream", "rails", offsetof(p::StartStream, rails), sizeof(p::StartStream::rails), sizeof(p::StartStream)},
    {"StartStream", "detail", offsetof(p::StartStream, detail), sizeof(p::StartStream::detail), sizeof(p::StartStream)},
    {"StartStream", "reserved", offsetof(p::StartStream, reserved), sizeof(p::StartStream::reserved), sizeof(p::StartStream)},
    {"SetDetail", "detail", offsetof(p::SetDetail, detail), sizeof(p::SetDetail::detail), sizeof(p::SetDetail)},
    {"SetDetail", "reserved", offsetof(p::SetDetail, reserved), sizeof(p::SetDetail::reserved), sizeof(p::SetDetail)},
    {"SyncRequest", "exchange", offsetof(p::SyncRequest, exchange), sizeof(p::SyncRequest::exchange), sizeof(p::SyncRequest)},
    {"SyncRequest", "reserved", offsetof(p::SyncRequest, reserved), sizeof(p::SyncRequest::reserved), sizeof(p::SyncRequest)},
    {"SyncReply", "exchange", offsetof(p::SyncReply, exchange), sizeof(p::SyncReply::exchange), sizeof(p::SyncReply)},
    {"SyncReply", "reserved", offsetof(p::SyncReply, reserved), sizeof(p::SyncReply::reserved), sizeof(p::SyncReply)},
    {"SyncReply", "received", offsetof(p::SyncReply, received), sizeof(p::SyncReply::received), sizeof(p::SyncReply)},
    {"SyncReply", "armed", offsetof(p::SyncReply, armed), sizeof(p::SyncReply::armed), sizeof(p::SyncReply)},
    {"SyncReply", "frame_time", offsetof(p::SyncReply, frame_time), sizeof(p::SyncReply::frame_time), sizeof(p::SyncReply)},
    {"SyncReply", "frame_number", offsetof(p::SyncReply, frame_number), sizeof(p::SyncReply::frame_number),
     sizeof(p::SyncReply)},
    {"SyncReply", "reserved2", offsetof(p::SyncReply, reserved2), sizeof(p::SyncReply::reserved2), sizeof(p::SyncReply)},
    {"SetDrivePower", "on", offsetof(p::SetDrivePower, on), sizeof(p::SetDrivePower::on), sizeof(p::SetDrivePower)},
    {"SetDrivePower", "reserved", offsetof(p::SetDrivePower, reserved), sizeof(p::SetDrivePower::reserved),
     sizeof(p::SetDrivePower)},
    {"SetDrivePower", "key", offsetof(p::SetDrivePower, key), sizeof(p::SetDrivePower::key), sizeof(p::SetDrivePower)},
    {"BootloaderKey", "key", offsetof(p::BootloaderKey, key), sizeof(p::BootloaderKey::key), sizeof(p::BootloaderKey)},
    {"SetSyncOut", "level", offsetof(p::SetSyncOut, level), sizeof(p::SetSyncOut::level), sizeof(p::SetSyncOut)},
    {"SetSyncOut", "reserved", offsetof(p::SetSyncOut, reserved), sizeof(p::SetSyncOut::reserved), sizeof(p::SetSyncOut)},
    {"SelfTestReport", "shorted_v_mean", offsetof(p::SelfTestReport, shorted_v_mean), sizeof(p::SelfTestReport::shorted_v_mean),
     sizeof(p::SelfTestReport)},
    {"SelfTestReport", "shorted_i_mean", offsetof(p::SelfTestReport, shorted_i_mean), sizeof(p::SelfTestReport::shorted_i_mean),
     sizeof(p::SelfTestReport)},
    {"SelfTestReport", "test_v_mean", offsetof(p::SelfTestReport, test_v_mean), sizeof(p::SelfTestReport::test_v_mean),
     sizeof(p::SelfTestReport)},
    {"SelfTestReport", "test_i_mean", offsetof(p::SelfTestReport, test_i_mean), sizeof(p::SelfTestReport::test_i_mean),
     sizeof(p::SelfTestReport)},
    {"SelfTestReport", "shorted_i_rms", offsetof(p::SelfTestReport, shorted_i_rms), sizeof(p::SelfTestReport::shorted_i_rms),
     sizeof(p::SelfTestReport)},
    {"SelfTestReport", "adc_crc_errors", offsetof(p::SelfTestReport, adc_crc_errors), sizeof(p::SelfTestReport::adc_crc_errors),
     sizeof(p::SelfTestReport)},
    {"SelfTestReport", "failed", offsetof(p::SelfTestReport, failed), sizeof(p::SelfTestReport::failed),
     sizeof(p::SelfTestReport)},
    {"SelfTestReport", "done", offsetof(p::SelfTestReport, done), sizeof(p::SelfTestReport::done), sizeof(p::SelfTestReport)},
    {"Counters", "samples", offsetof(p::Counters, samples), sizeof(p::Counters::samples), sizeof(p::Counters)},
    {"Counters", "lost_samples", offsetof(p::Counters, lost_samples), sizeof(p::Counters::lost_samples), sizeof(p::Counters)},
    {"Counters", "blocks", offsetof(p::Counters, blocks), sizeof(p::Counters::blocks), sizeof(p::Counters)},
    {"Counters", "lost_blocks", offsetof(p::Counters, lost_blocks), sizeof(p::Counters::lost_blocks), sizeof(p::Counters)},
    {"Counters", "adc_crc_errors", offsetof(p::Counters, adc_crc_errors), sizeof(p::Counters::adc_crc_errors),
     sizeof(p::Counters)},
    {"Counters", "peak_overruns", offsetof(p::Counters, peak_overruns), sizeof(p::Counters::peak_overruns),
     sizeof(p::Counters)},
    {"Counters", "slow_errors", offsetof(p::Counters, slow_errors), sizeof(p::Counters::slow_errors), sizeof(p::Counters)},
    {"Counters", "command_errors", offsetof(p::Counters, command_errors), sizeof(p::Counters::command_errors),
     sizeof(p::Counters)},
    {"Counters", "resynchronisations", offsetof(p::Counters, resynchronisations), sizeof(p::Counters::resynchronisations),
     sizeof(p::Counters)},
    {"Counters", "longest_masked_ticks", offsetof(p::Counters, longest_masked_ticks), sizeof(p::Counters::longest_masked_ticks),
     sizeof(p::Counters)},
    {"Counters", "ring_high_water", offsetof(p::Counters, ring_high_water), sizeof(p::Counters::ring_high_water),
     sizeof(p::Counters)},
    {"StorageSlot", "magic", offsetof(p::StorageSlot, magic), sizeof(p::StorageSlot::magic), sizeof(p::StorageSlot)},
    {"StorageSlot", "version", offsetof(p::StorageSlot, version), sizeof(p::StorageSlot::version), sizeof(p::StorageSlot)},
    {"StorageSlot", "length", offsetof(p::StorageSlot, length), sizeof(p::StorageSlot::length), sizeof(p::StorageSlot)},
    {"StorageSlot", "sequence", offsetof(p::StorageSlot, sequence), sizeof(p::StorageSlot::sequence), sizeof(p::StorageSlot)},
    {"StorageSlot", "payload_crc", offsetof(p::StorageSlot, payload_crc), sizeof(p::StorageSlot::payload_crc),
     sizeof(p::StorageSlot)},
    {"StorageSlot", "serial", offsetof(p::StorageSlot, serial), sizeof(p::StorageSlot::serial), sizeof(p::StorageSlot)},
    {"ReadStorage", "slot", offsetof(p::ReadStorage, slot), sizeof(p::ReadStorage::slot), sizeof(p::ReadStorage)},
    {"ReadStorage", "offset", offsetof(p::ReadStorage, offset), sizeof(p::ReadStorage::offset), sizeof(p::ReadStorage)},
    {"ReadStorage", "length", offsetof(p::ReadStorage, length), sizeof(p::ReadStorage::length), sizeof(p::ReadStorage)},
    {"ReadStorage", "reserved", offsetof(p::ReadStorage, reserved), sizeof(p::ReadStorage::reserved), sizeof(p::ReadStorage)},
    {"WriteStorage", "offset", offsetof(p::WriteStorage, offset), sizeof(p::WriteStorage::offset), sizeof(p::WriteStorage)},
    {"WriteStorage", "length", offsetof(p::WriteStorage, length), sizeof(p::WriteStorage::length), sizeof(p::WriteStorage)},
    {"WriteStorage", "total", offsetof(p::WriteStorage, total), sizeof(p::WriteStorage::total), sizeof(p::WriteStorage)},
    {"WriteStorage", "last", offsetof(p::WriteStorage, last), sizeof(p::WriteStorage::last), sizeof(p::WriteStorage)},
};

const std::vector<Value> compiled_values = {
    {"FrameType", "block", value_of(p::FrameType::block)},
    {"FrameType", "summary", value_of(p::FrameType::summary)},
    {"FrameType", "event", value_of(p::FrameType::event)},
    {"FrameType", "command", value_of(p::FrameType::command)},
    {"FrameType", "reply", value_of(p::FrameType::reply)},
    {"FrameType", "first_host_record", value_of(p::FrameType::first_host_record)},
    {"BlockFlag", "block_overrun", value_of(p::block_overrun)},
    {"BlockFlag", "block_clipped", value_of(p::block_clipped)},
    {"BlockFlag", "block_resynchronised", value_of(p::block_resynchronised)},
    {"BlockFlag", "block_adc_crc_error", value_of(p::block_adc_crc_error)},
    {"BlockFlag", "block_low_voltage", value_of(p::block_low_voltage)},
    {"BlockFlag", "block_adc_silent", value_of(p::block_adc_silent)},
    {"BlockFlag", "block_samples_lost", value_of(p::block_samples_lost)},
    {"BlockFlag", "block_slow_stale", value_of(p::block_slow_stale)},
    {"BlockFlag", "block_power_off", value_of(p::block_power_off)},
    {"BlockFlag", "block_peak_unavailable", value_of(p::block_peak_unavailable)},
    {"BlockFlag", "block_simulated", value_of(p::block_simulated)},
    {"Detail", "full", value_of(p::Detail::full)},
    {"Detail", "summary_10ms", value_of(p::Detail::summary_10ms)},
    {"Detail", "summary_1s", value_of(p::Detail::summary_1s)},
    {"SidebandBit", "sideband_clkreq", value_of(p::sideband_clkreq)},
    {"SidebandBit", "sideband_perst", value_of(p::sideband_perst)},
    {"SidebandBit", "sideband_activity_led", value_of(p::sideband_activity_led)},
    {"SidebandBit", "sideband_pewake", value_of(p::sideband_pewake)},
    {"SidebandBit", "sideband_devslp", value_of(p::sideband_devslp)},
    {"SidebandBit", "sideband_trigger_in", value_of(p::sideband_trigger_in)},
    {"SidebandBit", "sideband_sync_out", value_of(p::sideband_sync_out)},
    {"SidebandBit", "sideband_power_on", value_of(p::sideband_power_on)},
    {"CommandId", "get_info", value_of(p::CommandId::get_info)},
    {"CommandId", "start_stream", value_of(p::CommandId::start_stream)},
    {"CommandId", "stop_stream", value_of(p::CommandId::stop_stream)},
    {"CommandId", "sync", value_of(p::CommandId::sync)},
    {"CommandId", "set_detail", value_of(p::CommandId::set_detail)},
    {"CommandId", "self_test", value_of(p::CommandId::self_test)},
    {"CommandId", "read_storage", value_of(p::CommandId::read_storage)},
    {"CommandId", "write_storage", value_of(p::CommandId::write_storage)},
    {"CommandId", "set_drive_power", value_of(p::CommandId::set_drive_power)},
    {"CommandId", "get_counters", value_of(p::CommandId::get_counters)},
    {"CommandId", "set_sync_out", value_of(p::CommandId::set_sync_out)},
    {"CommandId", "enter_bootloader", value_of(p::CommandId::enter_bootloader)},
    {"Status", "ok", value_of(p::Status::ok)},
    {"Status", "unknown_command", value_of(p::Status::unknown_command)},
    {"Status", "bad_length", value_of(p::Status::bad_length)},
    {"Status", "bad_argument", value_of(p::Status::bad_argument)},
    {"Status", "wrong_state", value_of(p::Status::wrong_state)},
    {"Status", "busy", value_of(p::Status::busy)},
    {"Status", "storage_failed", value_of(p::Status::storage_failed)},
    {"Status", "storage_protected", value_of(p::Status::storage_protected)},
    {"Status", "adc_failed", value_of(p::Status::adc_failed)},
    {"Status", "bad_key", value_of(p::Status::bad_key)},
    {"Status", "not_available", value_of(p::Status::not_available)},
    {"SelfTestBit", "self_test_adc_id", value_of(p::self_test_adc_id)},
    {"SelfTestBit", "self_test_adc_short", value_of(p::self_test_adc_short)},
    {"SelfTestBit", "self_test_adc_signal", value_of(p::self_test_adc_signal)},
    {"SelfTestBit", "self_test_slow_path", value_of(p::self_test_slow_path)},
    {"SelfTestBit", "self_test_peak_path", value_of(p::self_test_peak_path)},
    {"SelfTestBit", "self_test_storage", value_of(p::self_test_storage)},
    {"SelfTestBit", "self_test_temperature", value_of(p::self_test_temperature)},
    {"SelfTestBit", "self_test_voltage", value_of(p::self_test_voltage)},
    {"StorageSlotState", "empty", value_of(p::StorageSlotState::empty)},
    {"StorageSlotState", "valid", value_of(p::StorageSlotState::valid)},
    {"StorageSlotState", "corrupt", value_of(p::StorageSlotState::corrupt)},
    {"", "protocol_version", value_of(p::protocol_version)},
    {"", "ticks_per_second", value_of(p::ticks_per_second)},
    {"", "ticks_per_microsecond", value_of(p::ticks_per_microsecond)},
    {"", "ticks_per_sample", value_of(p::ticks_per_sample)},
    {"", "group_delay_ticks", value_of(p::group_delay_ticks)},
    {"", "sideband_delay_ticks", value_of(p::sideband_delay_ticks)},
    {"", "ticks_per_peak_reading", value_of(p::ticks_per_peak_reading)},
    {"", "peak_delay_ticks", value_of(p::peak_delay_ticks)},
    {"", "slow_conversion_ticks", value_of(p::slow_conversion_ticks)},
    {"", "slow_delay_ticks", value_of(p::slow_delay_ticks)},
    {"", "samples_per_block", value_of(p::samples_per_block)},
    {"", "peak_readings_per_block", value_of(p::peak_readings_per_block)},
    {"", "peak_window_readings", value_of(p::peak_window_readings)},
    {"", "peak_groups", value_of(p::peak_groups)},
    {"", "blocks_per_peak_group", value_of(p::blocks_per_peak_group)},
    {"", "maximum_rails", value_of(p::maximum_rails)},
    {"", "bytes_per_code", value_of(p::bytes_per_code)},
    {"", "code_maximum", value_of(p::code_maximum)},
    {"", "code_minimum", value_of(p::code_minimum)},
    {"", "frame_magic", value_of(p::frame_magic)},
    {"", "header_checked_bytes", value_of(p::header_checked_bytes)},
    {"", "crc_bytes", value_of(p::crc_bytes)},
    {"", "samples_per_summary_10ms", value_of(p::samples_per_summary_10ms)},
    {"", "samples_per_summary_1s", value_of(p::samples_per_summary_1s)},
    {"", "peak_shift", value_of(p::peak_shift)},
    {"", "maximum_payload_bytes", value_of(p::maximum_payload_bytes)},
    {"", "maximum_frame_bytes", value_of(p::maximum_frame_bytes)},
    {"", "power_key", value_of(p::power_key)},
    {"", "bootloader_key", value_of(p::bootloader_key)},
    {"", "storage_magic", value_of(p::storage_magic)},
    {"", "storage_slot_bytes", value_of(p::storage_slot_bytes)},
    {"", "maximum_storage_chunk", value_of(p::maximum_storage_chunk)},
};

std::string read_text(const std::string& path) {
    std::ifstream file(std::string(WATTRIG_SOURCE_DIR) + "/" + path);
    EXPECT_TRUE(file.is_open()) << path;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string without_ticks(const std::string& cell) {
    const auto first = cell.find_first_not_of(" `");
    if (first == std::string::npos) return "";
    return cell.substr(first, cell.find_last_not_of(" `") - first + 1);
}

std::vector<std::string> cells(const std::string& line) {
    std::vector<std::string> result;
    std::stringstream stream(line.substr(1));
    for (std::string cell; std::getline(stream, cell, '|');) result.push_back(without_ticks(cell));
    return result;
}

struct Document {
    std::vector<Field> fields;
    std::vector<Value> values;
};

// A table of fields follows a line "`Name`, N bytes"; a table of values has the enumeration (or "constant") as its first
// heading.
Document parse(const std::string& text) {
    Document document;
    static const std::regex title("^`(\\w+)`, (\\d+) bytes$");
    std::string structure;
    std::size_t structure_size = 0;
    std::vector<std::string> headings;
    std::stringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        std::smatch match;
        if (std::regex_match(line, match, title)) {
            structure = match[1];
            structure_size = std::stoul(match[2]);
        }
        if (line.empty() || line[0] != '|') {
            headings.clear();
            continue;
        }
        const auto row = cells(line);
        if (headings.empty()) {
            headings = row;
        } else if (row[0].starts_with("---")) {
            continue;
        } else if (headings[0] == "field") {
            EXPECT_EQ(row.size(), 6u) << line;
            document.fields.push_back({structure, row[0], std::stoul(row[1]), std::stoul(row[2]), structure_size});
        } else if (headings.size() > 1 && headings[1] == "value") {
            EXPECT_EQ(row.size(), 3u) << line;
            document.values.push_back({headings[0] == "constant" ? "" : headings[0], row[0], std::stoll(row[1], nullptr, 0)});
        }
    }
    return document;
}

// What differs, one line each; empty when document and compiler agree.
std::vector<std::string> differences(const Document& document) {
    std::vector<std::string> result;
    std::map<std::string, std::string> written;
    const auto note = [&result, &written](const std::string& key, const std::string& what) {
        if (!written.emplace(key, what).second) result.push_back(key + " stands there twice");
    };
    for (const Field& f : document.fields) {
        note(f.structure + "." + f.name,
             std::to_string(f.offset) + "+" + std::to_string(f.size) + " of " + std::to_string(f.structure_size));
    }
    for (const Value& v : document.values) note(v.group + "::" + v.name, std::to_string(v.value));

    const auto expect = [&result, &written](const std::string& key, const std::string& what) {
        const auto found = written.find(key);
        if (found == written.end()) {
            result.push_back(key + " is missing, it is " + what);
            return;
        }
        if (found->second != what) result.push_back(key + " is " + what + ", not " + found->second);
        written.erase(found);
    };
    for (const Field& f : compiled_fields) {
        expect(f.structure + "." + f.name,
               std::to_string(f.offset) + "+" + std::to_string(f.size) + " of " + std::to_string(f.structure_size));
    }
    for (const Value& v : compiled_values) expect(v.group + "::" + v.name, std::to_string(v.value));
    for (const auto& [key, what] : written) result.push_back(key + " is not in the header");
    return result;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(ProtocolDocument, SaysWhatTheHeaderSays) {
    EXPECT_THAT(differences(parse(read_text("firmware/protocol/PROTOCOL.md"))), testing::IsEmpty());
}

TEST(ProtocolDocument, ListsCoverEveryByteOfEveryStruct) {
    std::map<std::string, std::size_t> end;
    std::map<std::string, std::size_t> size;
    for (const Field& field : compiled_fields) {
        EXPECT_EQ(field.offset, end[field.structure]) << field.structure << "." << field.name << ": something stands before it";
        end[field.structure] = field.offset + field.size;
        size[field.structure] = field.structure_size;
    }
    for (const auto& [structure, bytes] : size) EXPECT_EQ(end[structure], bytes) << structure << " has more at its end";
}

TEST(ProtocolDocument, ListsHoldEveryNameOfTheHeader) {
    std::set<std::string> listed;
    for (const Field& field : compiled_fields) listed.insert(field.structure);
    for (const Value& value : compiled_values) {
        listed.insert(value.group);
        listed.insert(value.name);
    }
    const std::string header = read_text("firmware/protocol/protocol.hpp");
    const std::regex names(
        "(?:struct (\\w+) \\{)|(?:enum (?:class )?(\\w+) :)|(?:\\n {4}(\\w+) = )|(?:inline constexpr [\\w:]+ (\\w+) = )");
    int found = 0;
    for (auto it = std::sregex_iterator(header.begin(), header.end(), names); it != std::sregex_iterator(); ++it) {
        const std::string name = (*it)[1].str() + (*it)[2].str() + (*it)[3].str() + (*it)[4].str();
        EXPECT_TRUE(listed.contains(name)) << name << " is in protocol.hpp and not in this test";
        ++found;
    }
    EXPECT_GT(found, 80);
}

// The comparison itself must be able to fail.
TEST(ProtocolDocument, NoticesEveryKindOfMistake) {
    const std::string text = read_text("firmware/protocol/PROTOCOL.md");
    using testing::ElementsAre;
    using testing::HasSubstr;
    EXPECT_THAT(differences(parse(replaced(text, "| `span` | 32 | 4 ", "| `span` | 36 | 4 "))),
                ElementsAre(HasSubstr("BlockHeader.span is")));
    EXPECT_THAT(differences(parse(replaced(text, "| `span` | 32 | 4 ", "| `spam` | 32 | 4 "))),
                ElementsAre(HasSubstr("BlockHeader.span is missing"), HasSubstr("BlockHeader.spam is not")));
    EXPECT_THAT(differences(parse(replaced(text, "`RailSums`, 56 bytes", "`RailSums`, 64 bytes"))), testing::SizeIs(5));
    EXPECT_THAT(differences(parse(replaced(text, "| `busy` | 5 |", "| `busy` | 6 |"))),
                ElementsAre(HasSubstr("Status::busy is 5")));
    EXPECT_THAT(differences(parse(replaced(text, "| `peak_shift` | 12 |", "| `peak_shift` | 11 |"))),
                ElementsAre(HasSubstr("::peak_shift is 12")));
    EXPECT_THAT(differences(parse(replaced(text, "| `crc_bytes` | 4 | |\n", ""))),
                ElementsAre(HasSubstr("::crc_bytes is missing")));
}

}  // namespace
