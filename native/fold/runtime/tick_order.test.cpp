// What is found of the order of events in one tick agrees with a log of all of them.
#include "fold/runtime/tick_order.hpp"

#include <array>
#include <string>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr u32 actors = 3;

enum class What { end, enter, leave, start, post, barrier };

struct Call {
    What what;
    u32 actor;
    u64 tick;
    u64 event;
    u64 number;          // slots, queue, counter, bytes of the key, or stream
    u32 node = none;
    bool flag = false;   // behind, or looks
};

struct Found {
    std::string what;
    u32 actor = none;
    u32 node = none;
    u32 other = none;
};

class SlowOrder {
public:
    u64 event = 0;
    Found found;

    void add(const Call& call, bool strict) {
        const std::vector<Call> before = latest(call.actor, call.tick);
        calls_.push_back(call);
        for (const Call& old : before) {
            compare(old, call, strict, contested(call.actor));
        }
    }

    std::vector<Call> latest(u32 actor, u64 tick) const {
        std::vector<Call> found;
        for (const Call& call : calls_) {
            if (call.actor == actor && call.tick == tick) {
                found.push_back(call);
            }
        }
        return found;
    }
    std::vector<Call> latest(u32 actor) const {
        u64 tick = 0;
        for (const Call& call : calls_) {
            tick = call.actor == actor ? call.tick : tick;
        }
        return latest(actor, tick);
    }

    struct Contested {
        u64 slots = 0;
        u32 node = none;
        u32 other = none;
        std::vector<u32> queues;
    };
    Contested contested(u32 actor) const {
        Contested open;
        const std::vector<Call> calls = latest(actor);
        if (calls.empty() || settled_[actor] == calls.front().tick) {
            return open;
        }
        for (std::size_t j = 0; j < calls.size(); ++j) {
            for (std::size_t i = 0; i < j; ++i) {
                const Call& a = calls[i];
                const Call& b = calls[j];
                if (a.what == What::end && b.what == What::end && a.event != b.event) {
                    if (open.slots == 0 && (a.number & b.number) != 0) {
                        open.node = a.node;
                        open.other = b.node;
                    }
                    open.slots |= a.number & b.number;
                }
                const u32 queue = static_cast<u32>(b.number);
                if (moves_past(a, b) && std::ranges::find(open.queues, queue) == open.queues.end()) {
                    open.queues.push_back(queue);
                }
            }
        }
        return open;
    }

    void settle(u32 actor, u64 tick, u64 wanted, u64 waiting_queues) {
        const std::vector<Call> calls = latest(actor);
        if (calls.empty() || calls.front().tick == tick) {
            return;
        }
        const Contested open = contested(actor);
        if ((open.slots & wanted) != 0) {
            note("two operations that end in one tick free or want a slot that more wait for", actor,
                 open.node, open.other);
        }
        for (u32 queue : open.queues) {
            if ((waiting_queues >> queue & 1) != 0) {
                note("two chunks move in one queue in one tick, where more wait", actor);
            }
        }
        settled_[actor] = calls.front().tick;
    }

private:
    static bool moves(const Call& call) { return call.what == What::enter || call.what == What::leave; }
    static bool moves_past(const Call& a, const Call& b) {
        if (!moves(a) || !moves(b) || a.number != b.number) {
            return false;
        }
        if (a.what == b.what) {
            return a.what == What::enter && a.event != b.event;
        }
        return !((a.what == What::leave || a.flag) && (b.what == What::leave || b.flag));
    }

    void compare(const Call& a, const Call& b, bool strict, const Contested& open) {
        const bool apart = a.event != b.event;
        if (a.what == What::end && b.what == What::end && apart && (a.number & b.number) != 0) {
            const bool any = a.number == TickOrder::everything || b.number == TickOrder::everything;
            if (any || two_alike(b.actor, b.tick)) {
                note("two operations that end in one tick may start what follows in any order", b.actor,
                     a.node, b.node);
            }
        }
        if (b.what == What::enter && strict && moves_past(a, b)) {
            note("two chunks move in one queue in one tick", b.actor);
        }
        const bool same = a.what == b.what && a.number == b.number;
        if (same && b.what == What::start && (apart || open.slots != 0)) {
            note("two collectives start in one tick", b.actor);
        }
        if (same && b.what == What::post && (apart || open.slots != 0)) {
            note("two messages alike are sent or received in one tick", b.actor);
        }
        if (same && b.what == What::barrier && a.flag != b.flag) {
            note("a chunk counts a message and looks for it in one tick", b.actor);
        }
    }

    bool two_alike(u32 actor, u64 tick) const {
        const std::vector<Call> calls = latest(actor, tick);
        for (std::size_t j = 0; j < calls.size(); ++j) {
            for (std::size_t i = 0; i < j; ++i) {
                const bool counts = calls[j].what == What::start || calls[j].what == What::post;
                if (counts && calls[i].what == calls[j].what && calls[i].number == calls[j].number) {
                    return true;
                }
            }
        }
        return false;
    }

    void note(const std::string& what, u32 actor, u32 node = none, u32 other = none) {
        if (found.what.empty()) {
            found = {what, actor, node, other};
        }
    }

    std::vector<Call> calls_;
    std::vector<u64> settled_ =
        std::vector<u64>(actors, ~u64{0});  // by actor: its latest tick settled
};

MatchKey key_of(u64 number) {
    MatchKey key{8, 3, 1, 2};
    (number == 1 ? key.tag : number == 2 ? key.src : key.dst) += number == 0 ? 0 : 1;
    return key;
}

class Both {
public:
    explicit Both(u32 seed) : random_(seed) {
        for (What& kind : kinds_) {
            kind = static_cast<What>(random_.below(6));
        }
    }

    bool step(u64 step) {
        if (random_.one_in(3)) {
            fast_.next_event();
            ++slow_.event;
        }
        tick_ += random_.one_in(8) ? 1 : 0;
        const u32 actor = static_cast<u32>(random_.below(actors));
        if (random_.one_in(4)) {
            settle(actor);
        } else {
            call(actor, step);
        }
        compare(step);
        return slow_.found.what.empty();
    }

private:
    void settle(u32 actor) {
        const u64 wanted = random_.below(8);
        const u64 waiting = random_.below(4) & random_.below(4);
        slow_.settle(actor, tick_, wanted, waiting);
        fast_.settle(actor, tick_, [&] { return wanted; }, [&](u32 queue) { return (waiting >> queue & 1) != 0; });
    }

    void call(u32 actor, u64 step) {
        Call call{kinds_[random_.below(kinds_.size())], actor, tick_, slow_.event, random_.below(4)};
        const bool strict = random_.one_in(4);
        call.flag = call.what == What::leave || random_.one_in(2);
        call.node = static_cast<u32>(step);
        const u32 number = static_cast<u32>(call.number);
        if (call.what == What::end) {
            call.number = random_.one_in(8) ? TickOrder::everything : random_.below(8) & random_.below(8);
        }
        slow_.add(call, strict);
        switch (call.what) {
            case What::end: fast_.node_ends(actor, tick_, call.node, call.number); break;
            case What::enter: fast_.enters(actor, tick_, number, call.flag, strict); break;
            case What::leave: fast_.leaves(actor, tick_, number); break;
            case What::start: fast_.collective_starts(actor, tick_, number); break;
            case What::post: fast_.posts(actor, tick_, key_of(number)); break;
            case What::barrier: fast_.meets_barrier(actor, tick_, number, call.flag); break;
        }
        bool alone = true;
        for (const Call& other : slow_.latest(actor, tick_)) {
            alone = alone && (other.what != What::end || other.event == slow_.event);
        }
        check(fast_.alone(actor, tick_) == alone, "who is alone in a tick", step);
    }

    void compare(u64 step) {
        check(fast_.found() == slow_.found.what, "something else was found", step);
        check(fast_.event() == slow_.event, "another event", step);
        if (!slow_.found.what.empty()) {
            check(fast_.actor() == slow_.found.actor, "it was found of another actor", step);
            check(fast_.node() == slow_.found.node && fast_.other() == slow_.found.other,
                  "it was found of other nodes", step);
        }
        for (u32 actor = 0; actor < actors; ++actor) {
            const TickOrder::Open open = fast_.open(actor);
            const SlowOrder::Contested contested = slow_.contested(actor);
            check(open.slots == contested.slots, "other slots are open", step);
            check(open.queues == contested.queues, "other queues are open", step);
        }
    }

    test::Random random_;
    std::array<What, 3> kinds_;
    TickOrder fast_{actors};
    SlowOrder slow_;
    u64 tick_ = 0;
};

static_assert(~TickOrder::everything == 0, "a slot that everything does not hold");

void the_first_that_is_found_counts() {
    TickOrder order(1);
    check(order.found().empty() && order.event() == 0, "something was found in nothing", 0);
    check(order.actor() == none && order.node() == none && order.other() == none, "of nobody", 0);
    order.note("first", 1, 2, 3);
    order.note("second", 4, 5, 6);
    check(order.found() == "first", "what is found first does not count", 0);
    check(order.actor() == 1 && order.node() == 2 && order.other() == 3, "what it is about", 0);
}

}  // namespace

int main() {
    the_first_that_is_found_counts();
    for (u32 seed = 0; seed < 20'000; ++seed) {
        Both both(seed);
        for (u64 step = 0; step < 40 && both.step(step); ++step) {
        }
    }
}
