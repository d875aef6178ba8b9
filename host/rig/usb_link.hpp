#pragma once
// A rig on USB. Transfers are asynchronous: several wait on IN 1 so that the bus is never idle while samples are there, two
// always wait on IN 2 so that a reply is taken at once, and each command goes out on OUT 2 by itself. h1 is read right before
// the submission, h4 first thing in the completion.
//
// When the rig goes away (cable, reset) the handler is told, and the same serial is looked for until `patience` is over: a rig
// that kept its power goes on where it was, one that lost it says so by its boot id. Both are the session's business.
//
// No thread of its own: the files that libusb polls are waited for by an Asio context, together with a timer of nanoseconds
// (epoll alone counts milliseconds from the last completion, and would undo the host's dither against the bus's frames).
// Thread rule: the thread that polls or waits; wake() from any.

#include <memory>
#include <string>

#include "host/rig/link.hpp"
#include "host/rig/usb_device.hpp"

namespace boost::asio {
class io_context;
}

namespace wattrig::rig {

struct UsbLinkOptions {
    std::string serial{};                    // empty: the only rig there is
    std::size_t samples_in_flight = 8;       // IN 1 transfers; a block needs one
    Nanoseconds patience{600'000'000'000};   // for a rig that went away
    Nanoseconds search_period{250'000'000};  // how often it is then looked for
    Nanoseconds send_timeout{1'000'000'000};
};

class UsbLink final : public Link {
  public:
    // With a context of the caller's, that context's thread is the link's.
    static Result<std::unique_ptr<UsbLink>> open(std::unique_ptr<UsbSystem> system, const UsbLinkOptions& options,
                                                 boost::asio::io_context* context = nullptr);
    ~UsbLink() override;  // cancels what is in flight and waits for it

    void attach(LinkHandler& handler) override;
    Result<HostTime> send(std::span<const std::uint8_t> frame) override;
    void poll(HostTime now) override;
    [[nodiscard]] HostTime next_event() const override;
    bool wait_until(HostTime until) override;
    void wake() override;
    [[nodiscard]] WireTime sync_wire_time() const override;
    [[nodiscard]] std::string description() const override;  // "usb 1209:0001 serial W0042"
    [[nodiscard]] bool simulated() const override { return false; }

    // Transfers handed to the device now; for tests.
    [[nodiscard]] std::size_t in_flight() const;

  private:
    struct State;
    explicit UsbLink(std::shared_ptr<State> state);
    std::shared_ptr<State> s_;
};

}  // namespace wattrig::rig
