#include "firmware/drivers/usb_descriptors.hpp"

#include <algorithm>
#include <string_view>

namespace wattrig::firmware::usb {
namespace {

constexpr std::uint8_t low(std::size_t value) { return static_cast<std::uint8_t>(value); }
constexpr std::uint8_t high(std::size_t value) { return static_cast<std::uint8_t>(value >> 8); }

// USB 2.0 table 9-8. bcdUSB 2.1: the host asks for the BOS descriptor.
constexpr std::array<std::uint8_t, 18> device = {18,
                                                 1,
                                                 0x10,
                                                 0x02,
                                                 0xff,
                                                 0,
                                                 0,
                                                 packet_bytes,
                                                 low(vendor_id),
                                                 high(vendor_id),
                                                 low(product_id),
                                                 high(product_id),
                                                 low(device_version),
                                                 high(device_version),
                                                 string_manufacturer,
                                                 string_product,
                                                 string_serial,
                                                 1};

// Tables 9-10, 9-12, 9-13. 300 mA: MCU, analog part and LEDs; the drive is not fed from USB.
constexpr std::size_t configuration_bytes = 9 + 9 + 3 * 7;
constexpr std::array<std::uint8_t, configuration_bytes> configuration = {9,
                                                                         2,
                                                                         low(configuration_bytes),
                                                                         high(configuration_bytes),
                                                                         1,
                                                                         1,
                                                                         0,
                                                                         0x80,
                                                                         150,  // bus powered
                                                                         9,
                                                                         4,
                                                                         0,
                                                                         0,
                                                                         3,
                                                                         0xff,
                                                                         0,
                                                                         0,
                                                                         0,  //
                                                                         7,
                                                                         5,
                                                                         endpoint_samples_in,
                                                                         2,
                                                                         packet_bytes,
                                                                         0,
                                                                         0,  //
                                                                         7,
                                                                         5,
                                                                         endpoint_commands_out,
                                                                         2,
                                                                         packet_bytes,
                                                                         0,
                                                                         0,  //
                                                                         7,
                                                                         5,
                                                                         endpoint_replies_in,
                                                                         2,
                                                                         packet_bytes,
                                                                         0,
                                                                         0};

// Microsoft OS 2.0 descriptors: a header, WinUSB as compatible id, and the interface GUID by which programs find the rig.
constexpr std::u16string_view property_name = u"DeviceInterfaceGUIDs";
constexpr std::u16string_view interface_guid = u"{6E45A3D1-5B0C-4F0E-9C35-7D1F5B8A2C94}";
constexpr std::size_t name_bytes = 2 * (property_name.size() + 1);
constexpr std::size_t data_bytes = 2 * (interface_guid.size() + 2);  // a list of strings ends with an empty one
constexpr std::size_t header_part = 10;
constexpr std::size_t compatible_part = 20;
constexpr std::size_t property_part = 10 + name_bytes + data_bytes;
constexpr std::size_t microsoft_bytes = header_part + compatible_part + property_part;

constexpr std::array<std::uint8_t, microsoft_bytes> microsoft = [] {
    std::array<std::uint8_t, microsoft_bytes> set{};
    std::size_t at = 0;
    const auto put8 = [&](std::uint8_t value) { set[at++] = value; };
    const auto put16 = [&](std::size_t value) {
        put8(low(value));
        put8(high(value));
    };
    const auto put_text = [&](std::u16string_view text) {
        for (const char16_t character : text) put16(character);
        put16(0);
    };
    put16(header_part);
    put16(0x00);  // MS_OS_20_SET_HEADER_DESCRIPTOR
    put16(0x0000);
    put16(0x0603);  // Windows 8.1 and later
    put16(microsoft_bytes);
    put16(compatible_part);
    put16(0x03);  // MS_OS_20_FEATURE_COMPATBLE_ID
    for (const char character : std::string_view("WINUSB")) put8(static_cast<std::uint8_t>(character));
    at += 10;  // to 8 characters, and no sub-compatible id
    put16(property_part);
    put16(0x04);  // MS_OS_20_FEATURE_REG_PROPERTY
    put16(7);     // REG_MULTI_SZ
    put16(name_bytes);
    put_text(property_name);
    put16(data_bytes);
    put_text(interface_guid);
    put16(0);
    return set;
}();

// USB 3.2 section 9.6.2: USB 2.0 extension (no link power management) and the platform capability of the set above.
constexpr std::array<std::uint8_t, 5 + 7 + 28> bos = {5,
                                                      15,
                                                      40,
                                                      0,
                                                      2,  //
                                                      7,
                                                      16,
                                                      2,
                                                      0,
                                                      0,
                                                      0,
                                                      0,  //
                                                      28,
                                                      16,
                                                      5,
                                                      0,
                                                      0xdf,
                                                      0x60,
                                                      0xdd,
                                                      0xd8,
                                                      0x89,
                                                      0x45,
                                                      0xc7,
                                                      0x4c,
                                                      0x9c,
                                                      0xd2,
                                                      0x65,
                                                      0x9d,
                                                      0x9e,
                                                      0x64,
                                                      0x8a,
                                                      0x9f,
                                                      0,
                                                      0,
                                                      0x03,
                                                      0x06,
                                                      low(microsoft_bytes),
                                                      high(microsoft_bytes),
                                                      request_microsoft,
                                                      0};

}  // namespace

std::span<const std::uint8_t> device_descriptor() { return device; }
std::span<const std::uint8_t> configuration_descriptor() { return configuration; }
std::span<const std::uint8_t> bos_descriptor() { return bos; }
std::span<const std::uint8_t> microsoft_descriptor_set() { return microsoft; }

std::size_t make_string_descriptor(std::span<const char> text, std::span<std::uint8_t> out) {
    const std::size_t characters = std::min({text.size(), std::size_t{126}, (out.size() - 2) / 2});
    out[0] = static_cast<std::uint8_t>(2 + 2 * characters);
    out[1] = 3;
    for (std::size_t n = 0; n < characters; ++n) {
        out[2 + 2 * n] = static_cast<std::uint8_t>(text[n]);
        out[3 + 2 * n] = 0;
    }
    return out[0];
}

}  // namespace wattrig::firmware::usb
