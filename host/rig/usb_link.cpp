#include "host/rig/usb_link.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <optional>
#include <tuple>
#include <vector>

#include "firmware/protocol/protocol.hpp"
#include "host/rig/clock_sync.hpp"
#include "host/rig/session.hpp"

namespace wattrig::rig {
namespace {

namespace asio = boost::asio;

// A block's frame of one rail (772 bytes) ends with a short packet and so ends its transfer; two rails need 1,222.
constexpr std::size_t samples_bytes = std::size_t{32} * protocol::usb::packet_bytes;
constexpr std::size_t replies_bytes = std::size_t{8} * protocol::usb::packet_bytes;
constexpr std::size_t replies_in_flight = 2;
constexpr std::size_t commands_in_flight = 8;
static_assert(samples_bytes >= protocol::maximum_frame_bytes && samples_bytes % protocol::usb::packet_bytes == 0);
// Errors of one endpoint without a byte in between, before the link is given up.
constexpr int errors_allowed = 5;
constexpr Nanoseconds cancel_patience{2'000'000'000};

}  // namespace

const char* usb_status_text(UsbStatus status) {
    switch (status) {
        case UsbStatus::completed: return "completed";
        case UsbStatus::timed_out: return "the rig did not take it in time";
        case UsbStatus::stalled: return "the endpoint is halted";
        case UsbStatus::cancelled: return "cancelled";
        case UsbStatus::gone: return "the rig is gone from the bus";
        case UsbStatus::overflow: return "the rig sent more than was asked for";
        case UsbStatus::failed: return "the bus reports an error";
    }
    return "";
}

struct UsbLink::State : std::enable_shared_from_this<State> {
    struct Slot {
        UsbTransfer transfer;
        std::vector<std::uint8_t> bytes;
        State* state = nullptr;
        bool flying = false;
    };
    struct Watch {
        Watch(asio::io_context& context, UsbDescriptor d) : file(context, d.file), writable(d.writable) {}
        asio::posix::stream_descriptor file;
        bool writable;
    };

    State(std::unique_ptr<UsbSystem> usb, UsbLinkOptions o, asio::io_context* given)
        : system(std::move(usb)),
          options(std::move(o)),
          own(given == nullptr ? std::make_unique<asio::io_context>(1) : nullptr),
          context(given == nullptr ? *own : *given),
          timer(context, timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
          slots(options.samples_in_flight + replies_in_flight + commands_in_flight) {
        for (std::size_t k = 0; k < slots.size(); ++k) {
            Slot& slot = slots[k];
            const bool samples = k < options.samples_in_flight;
            const bool replies = !samples && k < options.samples_in_flight + replies_in_flight;
            slot.state = this;
            slot.bytes.resize(samples ? samples_bytes : replies ? replies_bytes : protocol::maximum_frame_bytes);
            slot.transfer.endpoint = samples   ? protocol::usb::endpoint_samples_in
                                     : replies ? protocol::usb::endpoint_replies_in
                                               : protocol::usb::endpoint_commands_out;
            slot.transfer.buffer = slot.bytes;
            slot.transfer.owner = &slot;
            slot.transfer.done = [](UsbTransfer& t) {
                const HostTime arrival = real_host_time();
                auto& done = *static_cast<Slot*>(t.owner);
                done.state->on_done(done, arrival);
            };
        }
    }

    std::unique_ptr<UsbSystem> system;
    UsbLinkOptions options;
    std::unique_ptr<asio::io_context> own;
    asio::io_context& context;
    asio::posix::stream_descriptor timer;
    std::vector<Slot> slots;  // IN 1, IN 2, OUT 2; never resized
    std::unique_ptr<UsbDevice> device;
    std::vector<std::unique_ptr<Watch>> watches;
    std::size_t opening = 0;  // counts openings, so that a late wake-up knows that its device is another
    LinkHandler* handler = nullptr;
    std::array<int, 3> errors{};
    std::optional<Error> lost;    // found in a completion, acted on behind it
    std::optional<Error> broken;  // for good
    bool away = false;
    bool closing = false;
    HostTime away_since{}, next_search{};
    bool timer_watched = false;

    // --------------------------------------------------------------------------------------------------------- the device
    void use(std::unique_ptr<UsbDevice> opened) {
        device = std::move(opened);
        ++opening;
        errors.fill(0);
        for (Slot& slot : slots) device->prepare(slot.transfer);
        for (const UsbDescriptor& d : device->descriptors()) {
            watches.push_back(std::make_unique<Watch>(context, d));
            watch(*watches.back());
        }
    }
    void read_all() {
        for (Slot& slot : slots)
            if (slot.transfer.endpoint != protocol::usb::endpoint_commands_out && !slot.flying) submit(slot);
    }
    void submit(Slot& slot) {
        const UsbStatus status = device->submit(slot.transfer);
        slot.flying = status == UsbStatus::completed;
        if (!slot.flying) lose(std::string("a transfer cannot be started: ") + usb_status_text(status));
    }
    void lose(const std::string& why) {
        if (!lost && !closing) lost = link_broke("usb: " + why);
    }
    [[nodiscard]] std::size_t flying() const {
        std::size_t count = 0;
        for (const Slot& slot : slots) count += slot.flying ? 1 : 0;
        return count;
    }
    void close() {
        if (!device) return;
        closing = true;
        for (Slot& slot : slots)
            if (slot.flying) device->cancel(slot.transfer);
        const HostTime give_up = real_host_time() + cancel_patience;
        while (flying() > 0 && real_host_time() < give_up) device->handle_events(Nanoseconds(10'000'000));
        ++opening;
        for (const auto& w : watches) w->file.release();  // they belong to libusb
        watches.clear();
        if (flying() > 0) {
            // A kernel that does not give a transfer back may still write to its buffer: then all of it has to stay.
            static std::vector<std::pair<std::unique_ptr<UsbDevice>, std::vector<Slot>>> never_freed;
            never_freed.emplace_back(std::move(device), std::vector<Slot>(slots.size()));
            never_freed.back().second.swap(slots);
        } else {
            for (Slot& slot : slots) device->release(slot.transfer);
            device.reset();
        }
        closing = false;
    }

    // -------------------------------------------------------------------------------------------------------- completions
    void on_done(Slot& slot, HostTime arrival) {
        slot.flying = false;
        if (closing || lost) return;
        const UsbTransfer& t = slot.transfer;
        const bool in = (t.endpoint & 0x80) != 0;
        int& count = errors[t.endpoint == protocol::usb::endpoint_samples_in   ? 0
                            : t.endpoint == protocol::usb::endpoint_replies_in ? 1
                                                                               : 2];
        // What came before an error is as good as any: the frames have checks of their own.
        if (in && t.actual > 0) {
            count = 0;
            const std::span<const std::uint8_t> bytes(slot.bytes.data(), t.actual);
            if (handler != nullptr) {
                if (t.endpoint == protocol::usb::endpoint_samples_in)
                    handler->on_stream(bytes, arrival);
                else
                    handler->on_reply(bytes, arrival);
            }
        }
        if (t.status == UsbStatus::completed) {
            if (!in) count = 0;
        } else if (t.status == UsbStatus::gone) {
            return lose(usb_status_text(t.status));
        } else if (++count > errors_allowed) {
            return lose(std::string("endpoint ") + (in ? "IN " : "OUT ") + std::to_string(t.endpoint & 0x7f) + ": " +
                        usb_status_text(t.status) + ", " + std::to_string(count) + " times in a row");
        } else if (t.status == UsbStatus::stalled) {
            const UsbStatus cleared = device->clear_halt(t.endpoint);
            if (cleared == UsbStatus::gone) return lose(usb_status_text(cleared));
        }
        if (in && !lost) submit(slot);
    }

    // Behind the completions: nothing is torn down inside one.
    void settle(HostTime now) {
        if (lost && !broken) {
            const Error why = *lost;
            close();
            lost.reset();
            away = true;
            away_since = now;
            next_search = now + options.search_period;
            if (options.patience <= Nanoseconds(0) || slots.empty()) return give_up(why, now);
            if (handler != nullptr) handler->on_interrupted(why, now);
        }
        if (!away || broken || now < next_search) return;
        next_search = now + options.search_period;
        auto opened = system->open(options.serial);
        if (!opened) {
            if (now - away_since >= options.patience) give_up(opened.error(), now);
            return;
        }
        away = false;
        use(std::move(*opened));
        if (handler != nullptr) {
            handler->on_reconnected(now);
            read_all();
        }
    }
    void give_up(const Error& why, HostTime now) {
        broken = why;
        if (handler != nullptr) handler->on_broken(why, now);
    }

    // ------------------------------------------------------------------------------------------------------------- waiting
    void watch(Watch& w) {
        const auto kind = w.writable ? asio::posix::descriptor_base::wait_write : asio::posix::descriptor_base::wait_read;
        w.file.async_wait(kind, [self = shared_from_this(), &w, mine = opening](boost::system::error_code error) {
            // An aborted wait belongs to a device that is closed: `w` is gone.
            if (error || mine != self->opening || !self->device) return;
            self->device->handle_events(Nanoseconds(0));
            self->settle(real_host_time());
            if (mine == self->opening) self->watch(w);
        });
    }
    void watch_timer() {
        timer_watched = true;
        timer.async_wait(asio::posix::descriptor_base::wait_read, [self = shared_from_this()](boost::system::error_code error) {
            self->timer_watched = false;
            if (error) return;
            std::uint64_t times = 0;
            std::ignore = read(self->timer.native_handle(), &times, sizeof times);
            self->watch_timer();
        });
    }
    void set_timer(Nanoseconds left) {
        itimerspec when{};
        const std::int64_t ns = std::max<std::int64_t>(left.count(), 1);
        when.it_value = {ns / 1'000'000'000, ns % 1'000'000'000};
        timerfd_settime(timer.native_handle(), 0, &when, nullptr);
    }
};

Result<std::unique_ptr<UsbLink>> UsbLink::open(std::unique_ptr<UsbSystem> system, const UsbLinkOptions& options,
                                               asio::io_context* context) {
    auto device = system->open(options.serial);
    if (!device) return device.error();
    auto state = std::make_shared<State>(std::move(system), options, context);
    if (options.serial.empty()) {
        // From now on it is this one: after a reconnection another rig must not take its place.
        if (auto rigs = state->system->list(false))
            for (const UsbRig& rig : *rigs)
                if (!rig.boot_loader) state->options.serial = rig.serial;
    }
    state->use(std::move(*device));
    return std::unique_ptr<UsbLink>(new UsbLink(std::move(state)));
}

UsbLink::UsbLink(std::shared_ptr<State> state) : s_(std::move(state)) {}

UsbLink::~UsbLink() {
    s_->handler = nullptr;
    s_->close();
    boost::system::error_code ignored;
    std::ignore = s_->timer.close(ignored);
    // Lets the cancelled waits go, which hold the state alive.
    if (s_->own) {
        s_->context.restart();
        s_->context.poll();
    }
}

void UsbLink::attach(LinkHandler& handler) {
    const bool first = s_->handler == nullptr;
    s_->handler = &handler;
    if (first && s_->device) s_->read_all();
}

Result<HostTime> UsbLink::send(std::span<const std::uint8_t> frame) {
    if (s_->broken) return *s_->broken;
    // Gone for now: the session's own time-outs tell that nothing comes back.
    if (s_->away || s_->lost || !s_->device) return real_host_time();
    for (State::Slot& slot : s_->slots) {
        if (slot.transfer.endpoint != protocol::usb::endpoint_commands_out || slot.flying) continue;
        if (frame.size() > slot.bytes.size()) return bad_input("a command of " + std::to_string(frame.size()) + " bytes");
        std::copy(frame.begin(), frame.end(), slot.bytes.begin());
        slot.transfer.buffer = std::span(slot.bytes).first(frame.size());
        slot.transfer.timeout = s_->options.send_timeout;
        slot.flying = true;
        const HostTime before = real_host_time();
        s_->submit(slot);
        return before;
    }
    return link_broke(description() + ": the rig takes no commands");
}

void UsbLink::poll(HostTime now) {
    if (s_->device) s_->device->handle_events(Nanoseconds(0));
    s_->settle(now);
}

HostTime UsbLink::next_event() const { return s_->away && !s_->broken ? s_->next_search : HostTime::max(); }

bool UsbLink::wait_until(HostTime until) {
    if (!s_->own) return false;
    if (!s_->timer_watched) s_->watch_timer();
    const HostTime now = real_host_time();
    if (until <= now) return true;
    s_->set_timer(std::min(until - now, Nanoseconds(3'600'000'000'000)));
    s_->context.restart();
    s_->context.run_one();
    return true;
}

void UsbLink::wake() {
    asio::post(s_->context, [] {});
}

WireTime UsbLink::sync_wire_time() const {
    return {usb_wire_out(static_cast<std::int64_t>(sync_command_bytes)),
            usb_wire_in(static_cast<std::int64_t>(sync_reply_bytes))};
}

std::string UsbLink::description() const {
    return "usb 1209:0001 serial " + (s_->options.serial.empty() ? "unknown" : s_->options.serial);
}

std::size_t UsbLink::in_flight() const { return s_->flying(); }

}  // namespace wattrig::rig
