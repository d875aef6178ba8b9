// The buffers are made with libnvme's structs, whose layout shares nothing with our decoder; the values are chosen by hand.

#include "host/nvme/decode.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libnvme.h>

#include <cstring>

namespace wattrig::nvme {
namespace {

template <class T>
Bytes bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

TEST(DecodePowerState, AllFieldsInBothScales) {
    nvme_id_psd psd{};
    psd.mp = htole16(825);
    psd.enlat = htole32(5);
    psd.exlat = htole32(7000);
    psd.rrt = 1;
    psd.rrl = 2;
    psd.rwt = 3;
    psd.rwl = 4 | 0xE0;  // upper bits are reserved
    psd.idlp = htole16(450);
    psd.ips = 1 << 6;
    psd.actp = htole16(612);
    psd.apws = 2 << 6 | 1;
    auto state = decode_power_state(bytes_of(psd));
    ASSERT_TRUE(state);
    EXPECT_DOUBLE_EQ(state->maximum_power->value(), 8.25);
    EXPECT_TRUE(state->operational);
    EXPECT_EQ(state->entry_latency_us, 5u);
    EXPECT_EQ(state->exit_latency_us, 7000u);
    EXPECT_EQ(state->relative_read_throughput, 1);
    EXPECT_EQ(state->relative_read_latency, 2);
    EXPECT_EQ(state->relative_write_throughput, 3);
    EXPECT_EQ(state->relative_write_latency, 4);
    EXPECT_DOUBLE_EQ(state->idle_power->value(), 0.045);
    EXPECT_DOUBLE_EQ(state->active_power->value(), 6.12);
    EXPECT_EQ(state->active_workload, 1);

    psd.flags = NVME_PSD_FLAGS_MXPS | NVME_PSD_FLAGS_NOPS;
    psd.ips = static_cast<__u8>(2 << 6);
    psd.apws = 1 << 6 | 2;
    state = decode_power_state(bytes_of(psd));
    ASSERT_TRUE(state);
    EXPECT_DOUBLE_EQ(state->maximum_power->value(), 0.0825);
    EXPECT_FALSE(state->operational);
    EXPECT_DOUBLE_EQ(state->idle_power->value(), 4.5);
    EXPECT_DOUBLE_EQ(state->active_power->value(), 0.0612);
    EXPECT_EQ(state->active_workload, 2);
}

TEST(DecodePowerState, NotReportedIsNotZero) {
    nvme_id_psd psd{};
    auto state = decode_power_state(bytes_of(psd));
    ASSERT_TRUE(state);
    EXPECT_FALSE(state->maximum_power);
    EXPECT_FALSE(state->entry_latency_us);
    EXPECT_FALSE(state->exit_latency_us);
    EXPECT_FALSE(state->idle_power);
    EXPECT_FALSE(state->active_power);
    psd.idlp = htole16(5);  // a value without a scale says nothing
    EXPECT_FALSE(decode_power_state(bytes_of(psd))->idle_power);
    psd.idlp = 0;
    psd.ips = 1 << 6;  // a scale says that the value counts, and the value is 0
    state = decode_power_state(bytes_of(psd));
    ASSERT_TRUE(state->idle_power);
    EXPECT_EQ(state->idle_power->value(), 0);
    psd.ips = static_cast<__u8>(3 << 6);  // reserved
    EXPECT_FALSE(decode_power_state(bytes_of(psd))->idle_power);
}

nvme_id_ctrl example_controller() {
    nvme_id_ctrl id{};
    id.vid = htole16(0x144D);
    std::memcpy(id.sn, "S5GXNX0T123456      ", 20);
    std::memcpy(id.mn, "  Some Drive \x1b[2J 1TB                     ", 40);
    std::memcpy(id.fr, "5B2QGXA7", 8);
    id.cntlid = htole16(6);
    id.ver = htole32(0x10300);
    id.ctratt = htole32(1u << 21);
    id.oacs = htole16(NVME_CTRL_OACS_FORMAT);
    id.elpe = 63;
    id.npss = 4;
    id.apsta = 1;
    id.wctemp = htole16(355);
    id.hmpre = htole32(16384);
    id.hmmin = htole32(2048);
    id.hctma = htole16(1);
    id.mntmt = htole16(273);
    id.mxtmt = htole16(358);
    id.sanicap = htole32(NVME_CTRL_SANICAP_BES);
    id.nn = htole32(1);
    id.oncs = htole16(NVME_CTRL_ONCS_DSM);
    id.fna = 1;
    id.vwc = 1;
    for (unsigned i = 0; i < 32; ++i) id.psd[i].mp = htole16(static_cast<__u16>(800 - 100 * i));
    id.psd[4].flags = NVME_PSD_FLAGS_NOPS;
    id.psd[4].exlat = htole32(45000);
    return id;
}

TEST(DecodeController, FieldsOfTheWholePage) {
    const nvme_id_ctrl id = example_controller();
    ASSERT_EQ(sizeof id, 4096u);
    const auto c = decode_controller(bytes_of(id));
    ASSERT_TRUE(c) << c.error().message;
    EXPECT_EQ(c->vendor, 0x144D);
    EXPECT_EQ(c->serial, "S5GXNX0T123456");
    EXPECT_EQ(c->model, "Some Drive ?[2J 1TB") << "no escape reaches a terminal";
    EXPECT_EQ(c->firmware, "5B2QGXA7");
    EXPECT_EQ(c->controller_id, 6);
    EXPECT_EQ(c->version, 0x10300u);
    EXPECT_TRUE(c->power_measurement);
    EXPECT_TRUE(c->can_format);
    EXPECT_EQ(c->error_log_entries, 64);
    EXPECT_TRUE(c->autonomous_transitions);
    EXPECT_EQ(c->warning_temperature_k, 355);
    EXPECT_FALSE(c->critical_temperature_k);
    EXPECT_EQ(c->host_memory_preferred_4k, 16384u);
    EXPECT_EQ(c->host_memory_minimum_4k, 2048u);
    EXPECT_TRUE(c->host_thermal_management);
    EXPECT_EQ(c->thermal_management_minimum_k, 273);
    EXPECT_EQ(c->thermal_management_maximum_k, 358);
    EXPECT_FALSE(c->sanitize_crypto);
    EXPECT_TRUE(c->sanitize_block);
    EXPECT_FALSE(c->sanitize_overwrite);
    EXPECT_TRUE(c->can_deallocate);
    EXPECT_TRUE(c->format_covers_all_namespaces);
    EXPECT_TRUE(c->volatile_write_cache);
    EXPECT_EQ(c->namespaces, 1u);
    ASSERT_EQ(c->states.size(), 5u) << "NPSS counts from 0";
    EXPECT_DOUBLE_EQ(c->states[3].maximum_power->value(), 5.0);
    EXPECT_FALSE(c->states[4].operational);
    EXPECT_EQ(c->states[4].exit_latency_us, 45000u);
}

TEST(DecodeController, HostileAndShortPages) {
    nvme_id_ctrl id = example_controller();
    id.npss = 255;
    EXPECT_EQ(decode_controller(bytes_of(id))->states.size(), 32u);
    EXPECT_FALSE(decode_controller(bytes_of(id).first(4095)));
    EXPECT_FALSE(decode_power_state(bytes_of(id).first(31)));
    EXPECT_FALSE(decode_smart(bytes_of(id).first(511), true));
    EXPECT_FALSE(decode_autonomous_transitions(bytes_of(id).first(255)));
}

TEST(DecodeNamespace, FormatInUse) {
    nvme_id_ns id{};
    id.nsze = htole64(1953525168);
    id.ncap = htole64(1953525160);
    id.nuse = htole64(7);
    id.nlbaf = 1;
    id.flbas = 1;
    id.lbaf[0].ds = 9;
    id.lbaf[0].rp = 2;
    id.lbaf[1].ds = 12;
    id.lbaf[1].ms = htole16(8);
    const auto n = decode_namespace(bytes_of(id));
    ASSERT_TRUE(n);
    EXPECT_EQ(n->size_blocks, 1953525168u);
    EXPECT_EQ(n->capacity_blocks, 1953525160u);
    EXPECT_EQ(n->used_blocks, 7u);
    ASSERT_EQ(n->formats.size(), 2u);
    EXPECT_EQ(n->formats[0].block_bytes, 512u);
    EXPECT_EQ(n->formats[0].relative_performance, 2);
    EXPECT_EQ(n->formats[1].block_bytes, 4096u);
    EXPECT_EQ(n->formats[1].metadata_bytes, 8);
    EXPECT_EQ(n->format, 1);
}

TEST(DecodeFeatures, WordsAndTables) {
    EXPECT_EQ(decode_power_management(0x4Du).state, 13);
    EXPECT_EQ(decode_power_management(0x4Du).workload_hint, 2);
    nvme_feat_auto_pst table{};
    table.apst_entry[0] = htole64(3ull << 3 | 100ull << 8);
    table.apst_entry[3] = htole64(4ull << 3 | 2000ull << 8);
    const auto decoded = decode_autonomous_transitions(bytes_of(table));
    ASSERT_TRUE(decoded);
    EXPECT_EQ((*decoded)[0].to_state, 3);
    EXPECT_EQ((*decoded)[0].idle_ms, 100u);
    EXPECT_EQ((*decoded)[3].to_state, 4);
    EXPECT_EQ((*decoded)[3].idle_ms, 2000u);
    EXPECT_EQ((*decoded)[1].idle_ms, 0u);
    const auto encoded = encode_autonomous_transitions(*decoded);
    EXPECT_EQ(std::memcmp(encoded.data(), &table, 256), 0);
    nvme_host_mem_buf_attrs memory{};
    memory.hsize = htole32(16384);
    memory.hmdlal = htole32(0x1000);
    memory.hmdlau = htole32(1);
    memory.hmdlec = htole32(16);
    const auto buffer = decode_host_memory_buffer(1, bytes_of(memory));
    ASSERT_TRUE(buffer);
    EXPECT_TRUE(buffer->enabled);
    EXPECT_EQ(buffer->size_pages, 16384u);
    EXPECT_EQ(buffer->descriptor_list, 0x100001000u);
    EXPECT_EQ(buffer->descriptors, 16u);
    EXPECT_EQ(decode_thermal_management(0x01510162).light_k, 0x151);
    EXPECT_EQ(decode_thermal_management(0x01510162).heavy_k, 0x162);
}

TEST(DecodeSmart, FieldsAndTheDrivesOwnPower) {
    nvme_smart_log log{};
    log.critical_warning = 4;
    log.temperature[0] = 0x37;
    log.temperature[1] = 0x01;
    log.avail_spare = 100;
    log.spare_thresh = 10;
    log.percent_used = 3;
    log.data_units_read[0] = 1;
    log.data_units_read[1] = 2;
    log.data_units_written[8] = 1;  // above 64 bits
    log.power_on_hours[0] = 77;
    log.warning_temp_time = htole32(5);
    log.temp_sensor[1] = htole16(310);
    log.thm_temp2_total_time = htole32(9);
    auto* raw = reinterpret_cast<unsigned char*>(&log);
    raw[232] = 0x39;  // lifetime energy, 0x3039 Wh
    raw[233] = 0x30;
    raw[240] = 0xC8;  // 200 x 0.01 W
    raw[242] = 2;
    auto s = decode_smart(bytes_of(log), true);
    ASSERT_TRUE(s);
    EXPECT_EQ(s->critical_warning, 4);
    EXPECT_EQ(s->temperature_k, 0x137);
    EXPECT_EQ(s->spare_percent, 100);
    EXPECT_EQ(s->spare_threshold_percent, 10);
    EXPECT_EQ(s->used_percent, 3);
    EXPECT_EQ(s->units_read, 0x201u);
    EXPECT_EQ(s->units_written, ~0ull);
    EXPECT_EQ(s->power_on_hours, 77u);
    EXPECT_EQ(s->warning_minutes, 5u);
    EXPECT_FALSE(s->sensors_k[0]);
    EXPECT_EQ(s->sensors_k[1], 310);
    EXPECT_EQ(s->heavy_seconds, 9u);
    EXPECT_EQ(s->lifetime_energy_wh, 12345u);
    EXPECT_DOUBLE_EQ(s->interval_power->value(), 2.0);
    s = decode_smart(bytes_of(log), false);
    EXPECT_FALSE(s->lifetime_energy_wh) << "reserved bytes of a drive without power measurement";
    EXPECT_FALSE(s->interval_power);
}

TEST(DecodeLogs, ErrorsAndSanitize) {
    std::array<nvme_error_log_page, 3> log{};
    log[0].error_count = htole64(12);
    log[0].sqid = htole16(2);
    log[0].cmdid = htole16(0x101);
    log[0].status_field = htole16(0x4004);
    log[0].lba = htole64(99);
    log[0].nsid = htole32(1);
    log[2].error_count = htole64(11);
    const auto entries = decode_error_log(std::as_bytes(std::span(log)));
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].count, 12u);
    EXPECT_EQ(entries[0].queue, 2);
    EXPECT_EQ(entries[0].command, 0x101);
    EXPECT_EQ(entries[0].status, 0x4004);
    EXPECT_EQ(entries[0].block, 99u);
    EXPECT_EQ(entries[0].namespace_id, 1u);
    EXPECT_EQ(entries[1].count, 11u);

    nvme_sanitize_log_page sanitize{};
    sanitize.sprog = htole16(0x8000);
    sanitize.sstat = htole16(2);
    EXPECT_EQ(decode_sanitize(bytes_of(sanitize))->state, SanitizeState::in_progress);
    EXPECT_DOUBLE_EQ(decode_sanitize(bytes_of(sanitize))->done, 0.5);
    sanitize.sstat = htole16(1 | 1 << 8);
    EXPECT_EQ(decode_sanitize(bytes_of(sanitize))->state, SanitizeState::completed);
    sanitize.sstat = htole16(7);
    EXPECT_FALSE(decode_sanitize(bytes_of(sanitize)));
}

}  // namespace
}  // namespace wattrig::nvme
