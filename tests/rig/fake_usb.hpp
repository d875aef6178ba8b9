#pragma once
// A USB bus of memory: transfers complete when the test says so, in pieces, late, with errors, or never.

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/rig/usb_device.hpp"

namespace wattrig::test {

struct FakeBus {
    struct Done {
        rig::UsbTransfer* transfer;
        rig::UsbStatus status;
        std::vector<std::uint8_t> bytes;
    };
    FakeBus() { done.reserve(1024); }

    // What the test sees and does.
    std::map<std::uint8_t, std::deque<rig::UsbTransfer*>> waiting;  // by endpoint, oldest first
    std::vector<std::vector<std::uint8_t>> sent;                    // whole OUT transfers
    std::vector<std::uint8_t> cleared;                              // endpoints whose halt was cleared
    bool present = true;
    bool keep_out = false;  // OUT transfers wait for the test
    bool deaf_to_cancel = false;
    int prepared = 0, most_in_flight_in = 0, opened = 0;
    std::vector<std::string> serials{"W0001"};
    int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ~FakeBus() { close(event); }

    void signal() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto size = write(event, &one, sizeof one);
    }
    // The oldest waiting transfer of the endpoint ends so.
    void complete(std::uint8_t endpoint, std::vector<std::uint8_t> bytes, rig::UsbStatus status = rig::UsbStatus::completed) {
        auto& queue = waiting.at(endpoint);
        done.push_back({queue.front(), status, std::move(bytes)});
        queue.pop_front();
        signal();
    }
    void unplug() {
        present = false;
        for (auto& [endpoint, queue] : waiting)
            while (!queue.empty()) complete(endpoint, {}, rig::UsbStatus::gone);
    }
    [[nodiscard]] std::size_t in_flight() const {
        std::size_t count = done.size() - next_done;
        for (const auto& [endpoint, queue] : waiting) count += queue.size();
        return count;
    }

    std::vector<Done> done;
    std::size_t next_done = 0;
};

class FakeDevice final : public rig::UsbDevice {
  public:
    explicit FakeDevice(std::shared_ptr<FakeBus> bus) : bus_(std::move(bus)) { ++bus_->opened; }
    ~FakeDevice() override {
        if (bus_->in_flight() > 0 || bus_->prepared > 0) std::abort();  // what libusb would answer with a crash
    }
    void prepare(rig::UsbTransfer& transfer) override {
        ++bus_->prepared;
        transfer.native = this;
    }
    void release(rig::UsbTransfer& transfer) override {
        --bus_->prepared;
        transfer.native = nullptr;
    }
    rig::UsbStatus submit(rig::UsbTransfer& transfer) override {
        if (!bus_->present) return rig::UsbStatus::gone;
        if (transfer.endpoint == protocol::usb::endpoint_commands_out) {
            bus_->sent.emplace_back(transfer.buffer.begin(), transfer.buffer.end());
            bus_->waiting[transfer.endpoint].push_back(&transfer);
            if (!bus_->keep_out) bus_->complete(transfer.endpoint, {});
            return rig::UsbStatus::completed;
        }
        bus_->waiting[transfer.endpoint].push_back(&transfer);
        return rig::UsbStatus::completed;
    }
    void cancel(rig::UsbTransfer& transfer) override {
        auto& queue = bus_->waiting[transfer.endpoint];
        const auto at = std::find(queue.begin(), queue.end(), &transfer);
        if (at == queue.end() || bus_->deaf_to_cancel) return;
        queue.erase(at);
        bus_->done.push_back({&transfer, rig::UsbStatus::cancelled, {}});
    }
    rig::UsbStatus clear_halt(std::uint8_t endpoint) override {
        bus_->cleared.push_back(endpoint);
        return bus_->present ? rig::UsbStatus::completed : rig::UsbStatus::gone;
    }
    void handle_events(Nanoseconds) override {
        std::uint64_t times = 0;
        [[maybe_unused]] const auto size = read(bus_->event, &times, sizeof times);
        while (bus_->next_done < bus_->done.size()) {
            FakeBus::Done& d = bus_->done[bus_->next_done++];
            rig::UsbTransfer& t = *d.transfer;
            t.status = d.status;
            t.actual = std::min(d.bytes.size(), t.buffer.size());
            if (t.endpoint != protocol::usb::endpoint_commands_out) std::copy_n(d.bytes.begin(), t.actual, t.buffer.begin());
            if (t.endpoint == protocol::usb::endpoint_commands_out && t.status == rig::UsbStatus::completed)
                t.actual = t.buffer.size();
            t.done(t);
        }
        bus_->done.clear();
        bus_->next_done = 0;
    }
    [[nodiscard]] std::vector<rig::UsbDescriptor> descriptors() const override { return {{bus_->event, false}}; }

  private:
    std::shared_ptr<FakeBus> bus_;
};

class FakeSystem final : public rig::UsbSystem {
  public:
    explicit FakeSystem(std::shared_ptr<FakeBus> bus) : bus_(std::move(bus)) {}
    Result<std::vector<rig::UsbRig>> list(bool) override {
        std::vector<rig::UsbRig> rigs;
        for (const std::string& serial : bus_->serials) {
            rigs.emplace_back();
            rigs.back().serial = serial;
        }
        return rigs;
    }
    Result<std::unique_ptr<rig::UsbDevice>> open(const std::string& serial) override {
        const auto& all = bus_->serials;
        if (!bus_->present || (!serial.empty() && std::find(all.begin(), all.end(), serial) == all.end()))
            return device_refused("no rig found on USB");
        return std::unique_ptr<rig::UsbDevice>(std::make_unique<FakeDevice>(bus_));
    }

  private:
    std::shared_ptr<FakeBus> bus_;
};

}  // namespace wattrig::test
