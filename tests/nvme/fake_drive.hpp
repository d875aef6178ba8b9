#pragma once
// A controller in memory that answers Identify and Get/Set Features, with faults that real drives have shown.

#include <libnvme.h>

#include <cstring>
#include <map>
#include <string>

#include "host/nvme/device.hpp"

namespace wattrig::nvme {

class FakeDrive : public AdminDevice {
  public:
    explicit FakeDrive(std::string serial = "S1") {
        std::memset(id.sn, ' ', sizeof id.sn);
        std::memcpy(id.sn, serial.data(), std::min(serial.size(), sizeof id.sn));
        id.npss = 4;
        words[2] = 0;
        words[6] = 1;
        words[12] = 1;
        words[13] = 1;
        words[16] = 0x01500160;
        words[17] = 0;
        tables[12].resize(256, std::byte{7});
        tables[13].resize(4096, std::byte{9});
    }
    [[nodiscard]] std::string name() const override { return "nvme0"; }

    nvme_id_ctrl id{};
    std::map<unsigned, std::uint32_t> words;
    std::map<unsigned, std::vector<std::byte>> tables;
    bool ignores_settings = false;  // says yes, does nothing
    bool refuses_settings = false;
    std::vector<AdminCommand> sent;

  protected:
    Result<std::uint32_t> transmit(const AdminCommand& command, std::span<std::byte> data) override {
        sent.push_back(command);
        const unsigned feature = command.word10 & 0xFF;
        switch (command.opcode) {
            case 0x06:
                if (!data.empty()) std::memcpy(data.data(), &id, std::min(data.size(), sizeof id));
                return 0u;
            case 0x0A:
                if (!data.empty() && tables.contains(feature)) std::memcpy(data.data(), tables[feature].data(), data.size());
                return words[feature];
            case 0x09:
                if (refuses_settings) return device_refused(status_text(0x10E));
                if (ignores_settings) return 0u;
                words[feature] = command.word11;
                if (!data.empty()) tables[feature].assign(data.begin(), data.end());
                return 0u;
            default: return 0u;
        }
    }
};

}  // namespace wattrig::nvme
