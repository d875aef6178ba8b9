#include "host/sim/drive_parameters.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace wattrig::sim {
namespace {

using nlohmann::json;

std::string kind_of(const json& value) {
    if (value.is_number()) return value.dump();
    if (value.is_string()) return "the string " + value.dump().substr(0, 60);
    return value.is_object() ? "an object" : value.is_array() ? "a list" : value.dump();
}

// Reads the keys of one object; the first trouble is kept, and what nobody asked for is one too.
class Reader {
  public:
    Reader(const json& object, std::string path, const std::string& where, std::string& error)
        : object_(object), path_(std::move(path)), where_(where), error_(error) {
        if (!object.is_object()) fail(path_.empty() ? "the file" : path_, "an object", kind_of(object));
    }
    template <class T>
    void number(const char* key, T& out, double least, double most) {
        const json* value = find(key);
        if (!value) return;
        const bool integral = std::numeric_limits<T>::is_integer;
        if (!value->is_number()) return fail(path_ + key, "a number", kind_of(*value));
        const double number = value->get<double>();
        if (integral && std::trunc(number) != number) return fail(path_ + key, "a whole number", kind_of(*value));
        if (!(number >= least && number <= most))
            return fail(path_ + key, fmt::format("{} .. {}", least, most), kind_of(*value));
        out = value->get<T>();
    }
    template <class T>
    void optional_number(const char* key, T& out, double least, double most) {
        if (object_.is_object() && object_.contains(key)) number(key, out, least, most);
    }
    void text(const char* key, std::string& out) {
        const json* value = find(key);
        if (!value) return;
        if (!value->is_string() || value->get<std::string>().empty())
            return fail(path_ + key, "a string with something in it", kind_of(*value));
        out = value->get<std::string>();
    }
    // A part that may be left out.
    const json* part(const char* key, bool required) {
        seen_.insert(key);
        const auto at = object_.is_object() ? object_.find(key) : object_.end();
        if (object_.is_object() && at != object_.end()) return &*at;
        if (required) fail(path_ + key, "to be there", "nothing");
        return nullptr;
    }
    void finish() {
        if (!object_.is_object()) return;
        for (const auto& [key, value] : object_.items())
            if (!seen_.contains(key) && error_.empty())
                error_ = fmt::format("{}: key \"{}{}\" is not known to this program; remove it or correct its spelling", where_,
                                     path_, key);
    }
    void fail(const std::string& key, const std::string& expected, const std::string& came) {
        if (error_.empty()) error_ = fmt::format("{}: key \"{}\" should be {}, but is {}", where_, key, expected, came);
    }

  private:
    const json* find(const char* key) { return part(key, true); }

    const json& object_;
    std::string path_;
    const std::string& where_;
    std::string& error_;
    std::set<std::string> seen_;
};

void read_controller(Reader r, ControllerParameters& c) {
    r.number("command_ns", c.command_ns, 1, 1e6);
    r.number("read_overhead_ns", c.read_overhead_ns, 0, 1e8);
    r.number("write_overhead_ns", c.write_overhead_ns, 0, 1e8);
    r.number("flush_ns", c.flush_ns, 0, 1e9);
    r.number("discard_ns", c.discard_ns, 0, 1e9);
    r.number("discard_ns_per_gib", c.discard_ns_per_gib, 0, 1e10);
    r.number("link_bytes_per_second", c.link_bytes_per_second, 1e6, 1e11);
    r.finish();
}

void read_flash(Reader r, FlashParameters& f) {
    r.number("units", f.units, 1, 4096);
    r.number("page_bytes", f.page_bytes, 512, 1 << 20);
    r.number("read_ns", f.read_ns, 100, 1e8);
    r.number("read_spread", f.read_spread, 0, 0.9);
    r.number("channel_bytes_per_second", f.channel_bytes_per_second, 1e6, 1e11);
    r.number("program_bytes", f.program_bytes, 512, 1 << 26);
    r.number("cache_program_ns", f.cache_program_ns, 1000, 1e9);
    r.number("program_ns", f.program_ns, 1000, 1e9);
    r.optional_number("program_spread", f.program_spread, 0, 0.9);
    r.number("suspend_ns", f.suspend_ns, 0, 1e8);
    if ((f.page_bytes & (f.page_bytes - 1)) != 0) r.fail("flash.page_bytes", "a power of two", std::to_string(f.page_bytes));
    r.finish();
}

void read_cache(Reader r, CacheParameters& c) {
    r.number("bytes", c.bytes, 1e6, 1e14);
    r.number("drain_bytes_per_second", c.drain_bytes_per_second, 1e3, 1e11);
    r.number("busy_drain_bytes_per_second", c.busy_drain_bytes_per_second, 0, 1e11);
    r.number("idle_before_drain_ns", c.idle_before_drain_ns, 0, 1e12);
    r.number("reopen_fraction", c.reopen_fraction, 0, 0.99);
    r.optional_number("borrowed_bits_per_cell", c.borrowed_bits_per_cell, 2, 5);
    r.finish();
}

void read_map_cache(Reader r, MapCacheParameters& m) {
    r.number("segments", m.segments, 1, 1e8);
    r.number("segment_bytes", m.segment_bytes, 4096, 1e12);
    r.number("miss_ns", m.miss_ns, 0, 1e9);
    r.number("miss_joule", m.miss_joule, 0, 1);
    r.optional_number("host_buffer_bytes", m.host_buffer_bytes, 4096, 1e11);
    if (m.host_buffer_bytes > 0) r.number("host_buffer_ns", m.host_buffer_ns, 0, 1e6);
    r.finish();
}

void read_space(Reader r, SpaceParameters& s) {
    r.number("spare_fraction", s.spare_fraction, 0.02, 4);
    r.number("reserve_fraction", s.reserve_fraction, 0, 0.2);
    r.text("victim", s.victim);
    r.optional_number("map_unit_bytes", s.map_unit_bytes, 512, 65536);
    if (!s.victim.empty() && s.victim != "greedy" && s.victim != "oldest")
        r.fail("space.victim", "\"greedy\" or \"oldest\"", '"' + s.victim + '"');
    if ((s.map_unit_bytes & (s.map_unit_bytes - 1)) != 0)
        r.fail("space.map_unit_bytes", "a power of two", std::to_string(s.map_unit_bytes));
    // Three segments of 512 are the least reserve, and some must be left to gain by collecting.
    const double reserve = std::max(s.reserve_fraction, 3.0 / 512);
    if (s.spare_fraction / (1 + s.spare_fraction) < reserve + 0.01)
        r.fail("space.spare_fraction", fmt::format("well above the reserve of {:.3f}", reserve),
               fmt::format("{}", s.spare_fraction));
    r.finish();
}

void read_thermal(Reader r, ThermalParameters& t) {
    r.number("ambient_celsius", t.ambient_celsius, -40, 100);
    r.number("kelvin_per_watt", t.kelvin_per_watt, 0.1, 200);
    r.number("time_constant_seconds", t.time_constant_seconds, 1, 1e5);
    r.number("throttle_celsius", t.throttle_celsius, 0, 200);
    r.number("release_celsius", t.release_celsius, 0, 200);
    r.number("throttled_duty", t.throttled_duty, 0.01, 1);
    if (t.release_celsius >= t.throttle_celsius)
        r.fail("thermal.release_celsius", "below throttle_celsius", fmt::format("{}", t.release_celsius));
    r.finish();
}

void read_idle_states(const json& list, const std::string& where, std::string& error, std::vector<IdleState>& states) {
    for (std::size_t k = 0; k < list.size(); ++k) {
        const std::string path = fmt::format("power.idle_states[{}].", k);
        Reader r(list[k], path, where, error);
        IdleState s;
        r.number("watt", s.watt, 0, 30);
        r.number("idle_ns", s.idle_ns, 0, 1e13);
        r.number("entry_ns", s.entry_ns, 0, 1e11);
        r.number("exit_ns", s.exit_ns, 0, 1e11);
        r.finish();
        if (!states.empty() && s.idle_ns < states.back().idle_ns + states.back().entry_ns)
            r.fail(path + "idle_ns", "after the entry of the state before", std::to_string(s.idle_ns));
        states.push_back(s);
    }
}

void read_power(Reader r, PowerParameters& p, const std::string& where, std::string& error) {
    if (const json* list = r.part("idle_states", false)) {
        if (!list->is_array())
            r.fail("power.idle_states", "a list", kind_of(*list));
        else
            read_idle_states(*list, where, error, p.idle_states);
    }
    r.number("idle_watt", p.idle_watt, 0, 30);
    r.number("active_watt", p.active_watt, 0, 30);
    r.number("active_time_constant_ns", p.active_time_constant_ns, 1e3, 1e10);
    r.number("read_joule", p.read_joule, 0, 1);
    r.number("read_joule_per_byte", p.read_joule_per_byte, 0, 1e-3);
    r.number("write_joule", p.write_joule, 0, 1);
    r.number("write_joule_per_byte", p.write_joule_per_byte, 0, 1e-3);
    r.number("cache_program_joule_per_byte", p.cache_program_joule_per_byte, 0, 1e-3);
    r.number("program_joule_per_byte", p.program_joule_per_byte, 0, 1e-3);
    r.number("drain_joule_per_byte", p.drain_joule_per_byte, 0, 1e-3);
    r.finish();
}

}  // namespace

Result<DriveParameters> parse_model(const std::string& text, const std::string& where) {
    const json document = json::parse(text, nullptr, false);
    if (document.is_discarded()) {
        std::string reason = "it ends too early or holds a stray character";
        try {
            [[maybe_unused]] const json again = json::parse(text);
        } catch (const json::parse_error& e) {
            reason = fmt::format("byte {}", e.byte);
        } catch (const json::out_of_range&) {
            reason = "a number is larger than any that can be stored";
        }
        return bad_input(fmt::format("{}: is not well-formed JSON ({})", where, reason));
    }
    DriveParameters p;
    std::string error;
    Reader r(document, "", where, error);
    r.text("name", p.name);
    r.text("description", p.description);
    r.number("capacity_bytes", p.capacity_bytes, 1e6, 1e16);
    r.number("logical_block_bytes", p.logical_block_bytes, 512, 4096);
    r.number("write_buffer_bytes", p.write_buffer_bytes, 4096, 1e12);
    if (const json* part = r.part("controller", true))
        read_controller(Reader(*part, "controller.", where, error), p.controller);
    if (const json* part = r.part("flash", true)) read_flash(Reader(*part, "flash.", where, error), p.flash);
    if (const json* part = r.part("cache", false)) read_cache(Reader(*part, "cache.", where, error), p.cache);
    if (const json* part = r.part("map_cache", false)) read_map_cache(Reader(*part, "map_cache.", where, error), p.map_cache);
    if (const json* part = r.part("space", false)) read_space(Reader(*part, "space.", where, error), p.space);
    if (const json* part = r.part("thermal", false)) read_thermal(Reader(*part, "thermal.", where, error), p.thermal);
    if (const json* part = r.part("power", true)) read_power(Reader(*part, "power.", where, error), p.power, where, error);
    if (error.empty() && p.cache.borrowed_bits_per_cell > 0 && p.space.spare_fraction == 0)
        r.fail("space", "to be there, since the cache borrows cells", "nothing");
    if (p.logical_block_bytes != 512 && p.logical_block_bytes != 4096)
        r.fail("logical_block_bytes", "512 or 4096", std::to_string(p.logical_block_bytes));
    if (error.empty() && p.write_buffer_bytes < p.flash.program_bytes)
        r.fail("write_buffer_bytes", "at least flash.program_bytes", std::to_string(p.write_buffer_bytes));
    r.finish();
    if (!error.empty()) return bad_input(error);
    return p;
}

namespace {

Result<void> apply_option(DriveParameters& p, const std::string& option, const std::string& model) {
    const std::size_t equals = option.find('=');
    const std::string key = option.substr(0, equals), value = equals == std::string::npos ? "" : option.substr(equals + 1);
    if (key == "hmb") {
        if (value != "on" && value != "off")
            return bad_input(fmt::format("sim:{}: option hmb should be on or off, but is \"{}\"", model, value));
        if (p.map_cache.host_buffer_bytes == 0)
            return bad_input(fmt::format("sim:{}: option hmb: this model has no host memory buffer", model));
        if (value == "off") p.map_cache.host_buffer_bytes = 0;
        return {};
    }
    if (key == "ambient") {
        char* end = nullptr;
        const double celsius = std::strtod(value.c_str(), &end);
        if (value.empty() || *end != 0 || !(celsius >= -40 && celsius <= 100))
            return bad_input(
                fmt::format("sim:{}: option ambient should be -40 .. 100 degrees Celsius, but is \"{}\"", model, value));
        if (p.thermal.kelvin_per_watt == 0)
            return bad_input(fmt::format("sim:{}: option ambient: this model has no temperature", model));
        p.thermal.ambient_celsius = celsius;
        return {};
    }
    return bad_input(fmt::format("sim:{}: option \"{}\" is not known; there are hmb=on|off and ambient=CELSIUS", model, key));
}

Result<DriveParameters> load_plain(const std::string& model) {
    if (model.find('/') == std::string::npos && !model.ends_with(".json")) {
        std::string names;
        for (const EmbeddedModel& m : embedded_models()) {
            if (model == m.name) return parse_model(m.text, "built-in model " + model);
            names += names.empty() ? m.name : std::string(", ") + m.name;
        }
        return bad_input(fmt::format("no drive model \"{}\"; there are {}, or give the path of a model's JSON", model, names));
    }
    std::ifstream file(model, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) return bad_input(fmt::format("{}: cannot be read as a drive model", model));
    return parse_model(text.str(), model);
}

}  // namespace

Result<DriveParameters> load_model(const std::string& model) {
    const std::size_t mark = model.find('?');
    auto p = load_plain(model.substr(0, mark));
    if (!p || mark == std::string::npos) return p;
    std::istringstream options(model.substr(mark + 1));
    for (std::string option; std::getline(options, option, '&');)
        if (auto r = apply_option(*p, option, model); !r) return r.error();
    p->name = model;
    return p;
}

}  // namespace wattrig::sim
