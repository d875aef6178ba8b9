#include "host/io/windows.hpp"

#include <algorithm>
#include <cassert>

namespace wattrig::io {

namespace {

void accumulate(Window& to, const Window& from) {
    to.reads += from.reads;
    to.writes += from.writes;
    to.errors += from.errors;
    to.read_bytes += from.read_bytes;
    to.write_bytes += from.write_bytes;
    to.latency_sum += from.latency_sum;
    to.latency_maximum = std::max(to.latency_maximum, from.latency_maximum);
}

// Of phases that leap: ten thousand leaps to the ends of windows would be most of such a phase's cost.
constexpr std::int64_t leaping_fine_end = 1000 * WindowCounter::fine;

bool empty(const Window& w) { return (w.reads | w.writes | w.errors) == 0 && w.latency_sum == 0; }

}  // namespace

std::int64_t WindowCounter::step_at(std::int64_t at) const {
    if (at < fine_end_) return fine;
    return at < coarse_end ? coarse : coarsest;
}

void WindowCounter::start(Nanoseconds ramp, Nanoseconds expected, bool leaping) {
    ramp_ = ramp.count();
    if (leaping) fine_end_ = leaping_fine_end;
    end_ = step_at(0);
    const std::int64_t span = expected.count() > 0 ? expected.count() : coarse_end;
    const std::int64_t windows = std::min(span, fine_end_) / fine +
                                 std::max<std::int64_t>(0, std::min(span, coarse_end) - fine_end_) / coarse +
                                 std::max<std::int64_t>(0, span - coarse_end) / coarsest;
    windows_.reserve(static_cast<std::size_t>(windows) + 2000);
    cells_.reserve(static_cast<std::size_t>(coarsest / fine) + 1);
}

std::int64_t WindowCounter::window_end(std::int64_t at) const {
    const std::int64_t step = step_at(at);
    return at / step * step + step;
}

void WindowCounter::store_cell() {
    if (!empty(cell_)) cells_.push_back(cell_);
    cell_ = Window{};
}

void WindowCounter::close_window() {
    const std::int64_t length = end_ - begin_;
    const bool near_error = error_ || begin_ < fine_until_.load(std::memory_order_relaxed);
    if (length <= fine || !near_error || split_ >= most_split) {
        Window sum{};
        sum.begin = Nanoseconds(begin_ + ramp_);
        sum.length = Nanoseconds(length);
        for (const Window& cell : cells_) accumulate(sum, cell);
        windows_.push_back(sum);
    } else {
        ++split_;
        auto cell = cells_.begin();
        for (std::int64_t at = begin_; at < end_; at += fine) {
            Window part{};
            if (cell != cells_.end() && cell->begin.count() == at) part = *cell++;
            part.begin = Nanoseconds(at + ramp_);
            part.length = Nanoseconds(std::min(fine, end_ - at));
            windows_.push_back(part);
        }
    }
    cells_.clear();
    error_ = false;
}

void WindowCounter::move_to(std::int64_t at) {
    store_cell();
    while (at >= end_) {
        close_window();
        begin_ = end_;
        end_ = begin_ + step_at(begin_);
    }
    cell_.begin = Nanoseconds(at / fine * fine);
    cell_end_ = cell_.begin.count() + fine;
}

void WindowCounter::add_error(std::int64_t at) {
    if (at >= cell_end_) move_to(at);
    ++cell_.errors;
    error_ = true;
    std::int64_t until = fine_until_.load(std::memory_order_relaxed);
    while (until < at + after_error && !fine_until_.compare_exchange_weak(until, at + after_error, std::memory_order_relaxed)) {
    }
}

void WindowCounter::add(const Batch& batch, std::int64_t at) {
    if (at >= cell_end_) move_to(at);
    const Batch::Kind& read = batch.kinds[0];
    const Batch::Kind& write = batch.kinds[1];
    cell_.reads += static_cast<std::uint32_t>(read.operations);
    cell_.writes += static_cast<std::uint32_t>(write.operations);
    cell_.errors += static_cast<std::uint32_t>(read.errors + write.errors);
    cell_.read_bytes += read.bytes;
    cell_.write_bytes += write.bytes;
    cell_.latency_sum += read.latency_sum + write.latency_sum;
    cell_.latency_maximum = std::max({cell_.latency_maximum, read.latency_maximum, write.latency_maximum});
}

std::vector<Window> WindowCounter::finish(std::int64_t end) {
    if (end <= 0) return std::move(windows_);
    if (begin_ >= end) {
        // The last completion was exactly on a window's edge and ended the phase: it belongs to the window before, since one
        // of no length could not be a rate.
        store_cell();
        for (const Window& cell : cells_) accumulate(windows_.back(), cell);
        return std::move(windows_);
    }
    move_to(end - 1);  // closes what ended before
    end_ = std::min(end_, end);
    close_window();
    return std::move(windows_);
}

std::vector<Window> merge_windows(std::vector<std::vector<Window>> parts) {
    std::erase_if(parts, [](const auto& part) { return part.empty(); });
    if (parts.empty()) return {};
    if (parts.size() == 1) return std::move(parts.front());
    std::vector<std::size_t> at(parts.size(), 0);
    std::vector<Window> merged;
    merged.reserve(parts.front().size());
    // Each round emits one window that ends where all workers (that are not done yet) have an edge.
    for (;;) {
        bool any = false;
        Nanoseconds begin = Nanoseconds::max(), end{};
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (at[i] < parts[i].size()) {
                any = true;
                begin = std::min(begin, parts[i][at[i]].begin);
                end = std::max(end, parts[i][at[i]].begin + parts[i][at[i]].length);
            }
        if (!any) return merged;
        Window sum{};
        sum.begin = begin;
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t i = 0; i < parts.size(); ++i)
                while (at[i] < parts[i].size() && parts[i][at[i]].begin < end) {
                    const Window& w = parts[i][at[i]++];
                    accumulate(sum, w);
                    if (w.begin + w.length > end) {
                        end = w.begin + w.length;
                        moved = true;
                    }
                }
        }
        sum.length = end - begin;
        merged.push_back(sum);
    }
}

}  // namespace wattrig::io
