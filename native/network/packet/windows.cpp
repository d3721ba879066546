#include "network/packet/windows.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/interruption.hpp"

namespace yantra::packet {

namespace {

// A little less than what Watch calls long: one simulator then says what it means.
constexpr double long_silence_ns = 1.9e7;

}  // namespace

Windows::Windows(std::vector<Simulator*> parts, u64 window)
    : parts_(std::move(parts)), window_(window), barrier_(static_cast<u32>(parts_.size())) {
    for (std::vector<Said>& set : said_) {
        set.resize(parts_.size());
    }
}

u64 Windows::events() const {
    u64 sum = 0;
    for (const Simulator* part : parts_) {
        sum += part->events();
    }
    return sum;
}

u64 Windows::now() const {
    u64 latest = 0;
    for (const Simulator* part : parts_) {
        latest = std::max(latest, part->now());
    }
    return latest;
}

bool Windows::run_for(u64 events) {
    look_up();
    std::vector<std::thread> threads;
    if (!begin(threads, this->events() + events)) {
        refused_ = "the system gives no more threads";
        return false;
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    note_refusal(last_);
    if (const std::exception_ptr stopped = std::exchange(stopped_, nullptr); stopped != nullptr) {
        std::rethrow_exception(stopped);
    }
    return refused_.empty() && last_.next == ~u64{0};
}

bool Windows::begin(std::vector<std::thread>& threads, u64 until) {
    gate_.store(0);
    const auto open = [this](u32 how) {
        gate_.store(how);
        gate_.notify_all();
    };
    try {
        for (u32 part = 1; part < parts_.size(); ++part) {
            threads.emplace_back([this, part, until] {
                gate_.wait(0);
                if (gate_.load() == 1) {
                    work(part, until);
                }
            });
        }
    } catch (const std::system_error&) {
        open(2);
        for (std::thread& thread : threads) {
            thread.join();
        }
        return false;
    }
    open(1);
    work(0, until);
    return true;
}

// All threads see the same, so they decide alike. What is said and sent in one turn is read in the
// next, while the other set is written.
void Windows::work(u32 part, u64 until) {
    Simulator& own = *parts_[part];
    u32 set = set_;
    u64 heard = heard_;
    while (true) {
        said_[set][part] = say(part);
        barrier_.wait();
        Said all = all_say(set);
        heard = all.under_way == 0 && all.next != ~u64{0} ? all.next : std::max(heard, all.heard);
        all.refuses = all.refuses || (all.under_way > 0 && is_long(own, heard, all.next));
        try_to(part, [&] {
            for (u32 other = 0; other < parts_.size(); ++other) {
                if (other != part) {
                    own.take_in(parts_[other]->border().read(set, part));
                }
            }
        });
        set ^= 1U;
        own.border().write(set);
        if (all.stops || all.refuses || all.next == ~u64{0} || all.events >= until) {
            if (part == 0) {
                set_ = set;
                heard_ = heard;
                last_ = all;
            }
            return;
        }
        try_to(part, [&] { own.run_before(all.next + window_); });
    }
}

bool Windows::is_long(const Simulator& any, u64 heard, u64 next) {
    return next == ~u64{0} || any.senders().ns(next - std::min(heard, next)) >= long_silence_ns;
}

template <class Work>
void Windows::try_to(u32 part, Work&& work) {
    try {
        work();
    } catch (...) {   // one simulator then throws it, too
        parts_[part]->border().refuse("a part failed");
    }
}

Windows::Said Windows::say(u32 part) {
    Simulator& own = *parts_[part];
    Said said;
    said.next = std::min(own.empty() ? ~u64{0} : own.next_time(), own.border().take_earliest());
    said.events = own.events();
    said.heard = own.last_heard();
    said.under_way = own.flows_under_way();
    said.refuses = own.border().refused() != nullptr;
    if (part == 0) {
        try {
            look_up();
        } catch (...) {
            stopped_ = std::current_exception();
            said.stops = true;
        }
    }
    return said;
}

Windows::Said Windows::all_say(u32 set) const {
    Said all;
    for (const Said& of : said_[set]) {
        all.next = std::min(all.next, of.next);
        all.events += of.events;
        all.heard = std::max(all.heard, of.heard);
        all.under_way += of.under_way;
        all.stops = all.stops || of.stops;
        all.refuses = all.refuses || of.refuses;
    }
    return all;
}

void Windows::note_refusal(const Said& last) {
    if (!last.refuses) {
        return;
    }
    refused_ = "no byte was acknowledged for long";
    for (Simulator* part : parts_) {
        if (part->border().refused() != nullptr) {
            refused_ = part->border().refused();
            return;
        }
    }
}

}  // namespace yantra::packet
