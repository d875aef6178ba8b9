#include "firmware/drivers/usb_control.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace wattrig::firmware::usb {
namespace {

// bmRequestType: direction, kind, recipient.
constexpr std::uint8_t to_host = 0x80;
constexpr std::uint8_t kind_mask = 0x60;
constexpr std::uint8_t kind_standard = 0x00;
constexpr std::uint8_t kind_vendor = 0x40;
constexpr std::uint8_t recipient_mask = 0x1f;
enum Recipient : std::uint8_t { recipient_device = 0, recipient_interface = 1, recipient_endpoint = 2 };

enum Request : std::uint8_t {
    get_status = 0,
    clear_feature = 1,
    set_feature = 3,
    set_address = 5,
    get_descriptor = 6,
    get_configuration = 8,
    set_configuration = 9,
    get_interface = 10,
    set_interface = 11,
};
enum DescriptorType : std::uint8_t { type_device = 1, type_configuration = 2, type_string = 3, type_bos = 15 };
constexpr std::uint16_t feature_endpoint_halt = 0;
constexpr std::uint16_t microsoft_descriptor_index = 7;
constexpr std::array<std::uint8_t, 4> languages = {4, 3, 0x09, 0x04};  // English (United States)
constexpr std::string_view manufacturer = "wattrig";

constexpr ControlAnswer done(Effect effect = Effect::none, std::uint8_t endpoint = 0) {
    return {Answer::status, {}, false, effect, endpoint};
}

}  // namespace

ControlAnswer Control::send(std::span<const std::uint8_t> bytes, const SetupPacket& setup) const {
    const auto part = bytes.first(std::min<std::size_t>(bytes.size(), setup.length));
    return {Answer::data, part, part.size() < setup.length && part.size() % packet_bytes == 0};
}

ControlAnswer Control::send_small(std::uint16_t value, std::size_t bytes, const SetupPacket& setup) {
    scratch_[0] = static_cast<std::uint8_t>(value);
    scratch_[1] = static_cast<std::uint8_t>(value >> 8);
    return send(std::span(scratch_).first(bytes), setup);
}

int Control::endpoint_index(std::uint16_t address) {
    switch (address) {
        case endpoint_samples_in: return 0;
        case endpoint_commands_out: return 1;
        case endpoint_replies_in: return 2;
        default: return -1;
    }
}

void Control::on_bus_reset() {
    address_ = 0;
    next_address_ = 0;
    configured_ = false;
    halted_.fill(false);
}

ControlAnswer Control::on_setup(const SetupPacket& setup) {
    next_address_ = address_;  // a SET_ADDRESS whose status stage never came is forgotten
    const bool reads = (setup.request_type & to_host) != 0;
    if (!reads && setup.length != 0) return {};
    if (reads && setup.length == 0) return {};
    const std::uint8_t kind = setup.request_type & kind_mask;
    if (kind == kind_vendor) return vendor(setup);
    if (kind != kind_standard) return {};
    switch (setup.request_type & recipient_mask) {
        case recipient_device: return standard_device(setup);
        case recipient_interface: return standard_interface(setup);
        case recipient_endpoint: return standard_endpoint(setup);
        default: return {};
    }
}

ControlAnswer Control::standard_device(const SetupPacket& setup) {
    const bool reads = (setup.request_type & to_host) != 0;
    switch (setup.request) {
        case get_status:
            if (!reads || setup.value != 0 || setup.index != 0) return {};
            return send_small(0, 2, setup);  // bus powered, no remote wake-up
        case set_address:
            if (reads || setup.value > 127 || setup.index != 0) return {};
            next_address_ = static_cast<std::uint8_t>(setup.value);
            return done();
        case get_descriptor: return reads ? descriptor(setup) : ControlAnswer{};
        case get_configuration:
            if (!reads || setup.value != 0 || setup.index != 0) return {};
            return send_small(configured_ ? 1 : 0, 1, setup);
        case set_configuration:
            if (reads || setup.value > 1 || setup.index != 0) return {};
            configured_ = setup.value == 1;
            halted_.fill(false);
            return done(configured_ ? Effect::configure : Effect::deconfigure);
        default: return {};
    }
}

ControlAnswer Control::standard_interface(const SetupPacket& setup) {
    const bool reads = (setup.request_type & to_host) != 0;
    if (!configured_ || setup.index != 0 || setup.value != 0) return {};
    switch (setup.request) {
        case get_status: return reads ? send_small(0, 2, setup) : ControlAnswer{};
        case get_interface: return reads ? send_small(0, 1, setup) : ControlAnswer{};
        case set_interface:
            if (reads) return {};
            halted_.fill(false);
            return done(Effect::configure);
        default: return {};
    }
}

ControlAnswer Control::standard_endpoint(const SetupPacket& setup) {
    const bool reads = (setup.request_type & to_host) != 0;
    const bool control = setup.index == 0x00 || setup.index == 0x80;
    const int index = endpoint_index(setup.index);
    if (!control && (index < 0 || !configured_)) return {};
    bool* const halted = control ? nullptr : &halted_[static_cast<std::size_t>(index)];
    const auto endpoint = static_cast<std::uint8_t>(setup.index);
    switch (setup.request) {
        case get_status:
            if (!reads || setup.value != 0) return {};
            return send_small(halted != nullptr && *halted ? 1 : 0, 2, setup);
        case clear_feature:
            if (reads || setup.value != feature_endpoint_halt) return {};
            if (halted == nullptr) return done();
            *halted = false;
            return done(Effect::unhalt, endpoint);
        case set_feature:
            if (reads || setup.value != feature_endpoint_halt || halted == nullptr) return {};
            *halted = true;
            return done(Effect::halt, endpoint);
        default: return {};
    }
}

ControlAnswer Control::descriptor(const SetupPacket& setup) {
    const auto index = static_cast<std::uint8_t>(setup.value);
    const auto text = [&](std::span<const char> characters) {
        return send(std::span(scratch_).first(make_string_descriptor(characters, scratch_)), setup);
    };
    switch (setup.value >> 8) {
        case type_device: return index == 0 ? send(device_descriptor(), setup) : ControlAnswer{};
        case type_configuration: return index == 0 ? send(configuration_descriptor(), setup) : ControlAnswer{};
        case type_bos: return index == 0 ? send(bos_descriptor(), setup) : ControlAnswer{};
        case type_string:
            switch (index) {
                case string_languages: return send(languages, setup);
                case string_manufacturer: return text(manufacturer);
                case string_product: return text(product_);
                case string_serial: return text(serial_);
                default: return {};
            }
        default: return {};  // also the device qualifier: full speed only
    }
}

ControlAnswer Control::vendor(const SetupPacket& setup) {
    if ((setup.request_type & to_host) == 0 || (setup.request_type & recipient_mask) != recipient_device) return {};
    if (setup.request == request_microsoft && setup.value == 0 && setup.index == microsoft_descriptor_index) {
        return send(microsoft_descriptor_set(), setup);
    }
    if (setup.request == request_fault_record && setup.value == 0 && setup.index == 0) {
        std::memcpy(scratch_.data(), &fault_, sizeof fault_);
        return send(std::span(scratch_).first(sizeof fault_), setup);
    }
    return {};
}

}  // namespace wattrig::firmware::usb
