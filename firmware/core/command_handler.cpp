#include "firmware/core/command_handler.hpp"

#include <cstring>

#include "firmware/protocol/frame.hpp"

namespace wattrig::firmware {

using protocol::CommandHeader;
using protocol::CommandId;
using protocol::Status;

namespace {

// A payload may have grown at its end in a newer host: what is known is read, the rest ignored. Shorter is an error.
template <class T>
bool read_arguments(std::span<const std::uint8_t> arguments, T& out) {
    if (arguments.size() < sizeof(T)) return false;
    out = protocol::load<T>(arguments.data());
    return true;
}

}  // namespace

void CommandHandler::count_error() { stream_.set_command_errors(++errors_); }

CommandHandler::Reply& CommandHandler::new_reply(std::uint64_t timer_us, const CommandHeader& command, Status status) {
    Reply& reply = replies_[(replies_first_ + replies_used_++) % reply_slots];
    reply.ready_at = timer_us;
    reply.payload_bytes = 0;
    reply.is_sync = false;
    append(reply, CommandHeader{command.id, command.tag, static_cast<std::uint16_t>(status), 0});
    return reply;
}

template <class T>
void CommandHandler::append(Reply& reply, const T& part) {
    protocol::store(reply.payload.data() + reply.payload_bytes, part);
    reply.payload_bytes = static_cast<std::uint16_t>(reply.payload_bytes + sizeof part);
}

void CommandHandler::answer(std::uint64_t timer_us, const CommandHeader& command, Status status) {
    if (status != Status::ok) count_error();
    new_reply(timer_us, command, status);
}

template <class T>
void CommandHandler::answer_with(std::uint64_t timer_us, const CommandHeader& command, const T& part) {
    append(new_reply(timer_us, command, Status::ok), part);
}

void CommandHandler::on_command(std::uint64_t timer_us, std::span<const std::uint8_t> frame) {
    if (protocol::check_frame(frame) != protocol::FrameCheck::ok) return count_error();
    const auto header = protocol::load<protocol::FrameHeader>(frame.data());
    if (header.version != protocol::protocol_version ||
        header.type != static_cast<std::uint8_t>(protocol::FrameType::command) ||
        header.payload_bytes < sizeof(CommandHeader)) {
        return count_error();
    }
    // A storage job's reply comes later and needs a slot of its own.
    if (replies_used_ + (storage_.busy() ? 1 : 0) >= reply_slots) return count_error();
    const auto payload = frame.subspan(sizeof header, header.payload_bytes);
    dispatch(timer_us, protocol::load<CommandHeader>(payload.data()), payload.subspan(sizeof(CommandHeader)));
}

void CommandHandler::dispatch(std::uint64_t timer_us, const CommandHeader& command, Arguments arguments) {
    switch (static_cast<CommandId>(command.id)) {
        case CommandId::get_info: {
            protocol::Info info = config_.info;
            info.protocol_version = protocol::protocol_version;
            info.streaming = stream_.streaming() ? 1 : 0;
            info.now = timer_us * protocol::ticks_per_microsecond;
            return answer_with(timer_us, command, info);
        }
        case CommandId::start_stream: return answer(timer_us, command, start_stream(timer_us, arguments));
        case CommandId::stop_stream: stream_.stop(); return answer(timer_us, command, Status::ok);
        case CommandId::sync: return sync(timer_us, command, arguments);
        case CommandId::set_detail: return answer(timer_us, command, set_detail(arguments));
        case CommandId::self_test: {
            protocol::SelfTestReport report{};
            const Status status = self_test(report);
            return status == Status::ok ? answer_with(timer_us, command, report) : answer(timer_us, command, status);
        }
        case CommandId::read_storage:
        case CommandId::write_storage: {
            const Status status = begin_storage(command, arguments);
            return status == Status::ok ? void() : answer(timer_us, command, status);
        }
        case CommandId::set_drive_power: return answer(timer_us, command, set_drive_power(arguments));
        case CommandId::get_counters: {
            protocol::Counters counters = stream_.counters();
            counters.command_errors = errors_;
            return answer_with(timer_us, command, counters);
        }
        case CommandId::set_sync_out: return answer(timer_us, command, set_sync_out(arguments));
        case CommandId::enter_bootloader: return answer(timer_us, command, enter_bootloader(arguments));
    }
    answer(timer_us, command, Status::unknown_command);
}

Status CommandHandler::start_stream(std::uint64_t timer_us, Arguments arguments) {
    protocol::StartStream start;
    if (!read_arguments(arguments, start)) return Status::bad_length;
    if (start.rails < 1 || start.rails > config_.info.rails || start.rails > protocol::maximum_rails ||
        start.detail > static_cast<std::uint8_t>(protocol::Detail::summary_1s)) {
        return Status::bad_argument;
    }
    if (stream_.streaming()) return Status::wrong_state;  // a second host must not wipe the sums of the first
    stream_.start(timer_us, start.rails, static_cast<protocol::Detail>(start.detail));
    return Status::ok;
}

Status CommandHandler::set_detail(Arguments arguments) {
    protocol::SetDetail set;
    if (!read_arguments(arguments, set)) return Status::bad_length;
    if (set.detail > static_cast<std::uint8_t>(protocol::Detail::summary_1s)) return Status::bad_argument;
    if (!stream_.streaming()) return Status::wrong_state;
    stream_.set_detail(static_cast<protocol::Detail>(set.detail));
    return Status::ok;
}

Status CommandHandler::self_test(protocol::SelfTestReport& report) {
    if (port_.self_test == nullptr) return Status::not_available;
    if (stream_.streaming()) return Status::wrong_state;  // it shorts the inputs
    return port_.self_test(port_.context, report);
}

Status CommandHandler::set_drive_power(Arguments arguments) {
    protocol::SetDrivePower set;
    if (!read_arguments(arguments, set)) return Status::bad_length;
    if (set.key != protocol::power_key) return Status::bad_key;
    if (set.on > 1) return Status::bad_argument;
    if (config_.info.has_power_switch == 0 || port_.set_drive_power == nullptr) return Status::not_available;
    return port_.set_drive_power(port_.context, set.on == 1);
}

Status CommandHandler::set_sync_out(Arguments arguments) {
    protocol::SetSyncOut set;
    if (!read_arguments(arguments, set)) return Status::bad_length;
    if (set.level > 1) return Status::bad_argument;
    if (port_.set_sync_out == nullptr) return Status::not_available;
    return port_.set_sync_out(port_.context, set.level == 1);
}

Status CommandHandler::enter_bootloader(Arguments arguments) {
    protocol::BootloaderKey key;
    if (!read_arguments(arguments, key)) return Status::bad_length;
    if (key.key != protocol::bootloader_key) return Status::bad_key;
    if (stream_.streaming() || storage_.busy()) return Status::wrong_state;
    if (port_.enter_bootloader == nullptr) return Status::not_available;
    return port_.enter_bootloader(port_.context);
}

void CommandHandler::sync(std::uint64_t timer_us, const CommandHeader& command, Arguments arguments) {
    protocol::SyncRequest request;
    if (!read_arguments(arguments, request)) return answer(timer_us, command, Status::bad_length);
    const FrameStart frame = stream_.frame_start();
    protocol::SyncReply sync{};
    sync.exchange = request.exchange;
    // A TIMER reading stands for a whole microsecond. d2 is its end and d3 its begin, so that h1 <= host(d2) and host(d3) <= h4
    // hold without an allowance for the reading.
    sync.received = timer_us * protocol::ticks_per_microsecond + protocol::ticks_per_microsecond - 1;
    sync.frame_time = frame.ticks;
    sync.frame_number = frame.number;
    Reply& reply = new_reply(timer_us, command, Status::ok);
    append(reply, sync);
    reply.ready_at = timer_us + dither_.next_us();
    reply.is_sync = true;
}

Status CommandHandler::begin_storage(const CommandHeader& command, Arguments arguments) {
    Status status = Status::bad_length;
    if (static_cast<CommandId>(command.id) == CommandId::read_storage) {
        protocol::ReadStorage read;
        if (!read_arguments(arguments, read)) return Status::bad_length;
        status = storage_.begin_read(read);
    } else {
        protocol::WriteStorage write;
        if (!read_arguments(arguments, write)) return Status::bad_length;
        const auto chunk = arguments.subspan(sizeof write);
        if (write.length > chunk.size()) return Status::bad_length;
        status = storage_.begin_write(write, chunk);
    }
    if (status == Status::ok) storage_command_ = command;
    return status;
}

void CommandHandler::poll() {
    if (!storage_.step()) return;
    if (!storage_.was_read() || storage_.status() != Status::ok) return answer(0, storage_command_, storage_.status());
    Reply& reply = new_reply(0, storage_command_, Status::ok);
    append(reply, storage_.slot());
    const auto data = storage_.data();
    const std::size_t padded = protocol::padded(data.size());
    std::memset(reply.payload.data() + reply.payload_bytes, 0, padded);
    if (!data.empty()) std::memcpy(reply.payload.data() + reply.payload_bytes, data.data(), data.size());
    reply.payload_bytes = static_cast<std::uint16_t>(reply.payload_bytes + padded);
}

std::size_t CommandHandler::take_reply(std::uint64_t timer_us, std::span<std::uint8_t> out) {
    if (replies_used_ == 0 || timer_us < reply_ready_at()) return 0;
    Reply& reply = replies_[replies_first_];
    if (out.size() < protocol::frame_bytes(reply.payload_bytes)) return 0;
    if (reply.is_sync) {
        protocol::store(reply.payload.data() + sizeof(CommandHeader) + offsetof(protocol::SyncReply, armed),
                        std::uint64_t{timer_us * protocol::ticks_per_microsecond});
    }
    std::memcpy(out.data() + sizeof(protocol::FrameHeader), reply.payload.data(), reply.payload_bytes);
    replies_first_ = (replies_first_ + 1) % reply_slots;
    --replies_used_;
    return protocol::seal_frame(out.data(), protocol::FrameType::reply, reply.payload_bytes, sequence_++);
}

}  // namespace wattrig::firmware
