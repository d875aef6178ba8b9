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
    r.finish();
}

void read_map_cache(Reader r, MapCacheParameters& m) {
    r.number("segments", m.segments, 1, 1e8);
    r.number("segment_bytes", m.segment_bytes, 4096, 1e12);
    r.number("miss_ns", m.miss_ns, 0, 1e9);
    r.number("miss_joule", m.miss_joule, 0, 1);
    r.finish();
}

void read_power(Reader r, PowerParameters& p) {
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
    if (const json* part = r.part("power", true)) read_power(Reader(*part, "power.", where, error), p.power);
    if (p.logical_block_bytes != 512 && p.logical_block_bytes != 4096)
        r.fail("logical_block_bytes", "512 or 4096", std::to_string(p.logical_block_bytes));
    if (error.empty() && p.write_buffer_bytes < p.flash.program_bytes)
        r.fail("write_buffer_bytes", "at least flash.program_bytes", std::to_string(p.write_buffer_bytes));
    r.finish();
    if (!error.empty()) return bad_input(error);
    return p;
}

Result<DriveParameters> load_model(const std::string& model) {
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

}  // namespace wattrig::sim
