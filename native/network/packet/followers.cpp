#include "network/packet/followers.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/one_thread.hpp"

namespace yantra::packet {

namespace {

// A little less than what Watch calls long: one simulator then says what it means.
constexpr double longest_wait_ns = 1.9e7;

}  // namespace

Followers::Followers(const FabricSpec& fabric, const Settings& settings, Observer& observer, Simulator& first,
                     Partition partition)
    : first_(first), partition_(std::move(partition)), parts_{&first}, barrier_(partition_.parts) {
    for (u32 part = 1; part < partition_.parts; ++part) {
        const Part made{part, partition_.parts, partition_.part_of, first.shared_routes(), 0};
        others_.push_back(std::make_unique<Simulator>(fabric, settings, observer, made));
        others_.back()->begun().are_kept = true;
        parts_.push_back(others_.back().get());
    }
    for (std::vector<Said>& set : said_) {
        set.resize(parts_.size());
    }
}

Followers::~Followers() {
    if (!threads_.empty()) {
        leave();
    }
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

void Followers::begin() {
    try {
        for (u32 part = 1; part < parts_.size(); ++part) {
            threads_.emplace_back([this, part] { work(part); });
        }
    } catch (const std::system_error&) {   // those there are wait for one more
        for (std::size_t missing = threads_.size() + 1; missing < parts_.size(); ++missing) {
            barrier_.arrive();
        }
        leave();
        for (std::thread& thread : threads_) {
            thread.join();
        }
        threads_.clear();
        throw OneThread{"the system gives no more threads"};
    }
}

// What is said and sent in one window is read at the next, while the other set is written.
void Followers::work(u32 part) {
    u32 set = 0;
    while (true) {
        said_[set][part] = say(part);
        barrier_.wait();
        if (said_[set][0].leaves) {
            return;
        }
        const u64 next = all_say(set).next;
        try {
            turn(part, set);
            parts_[part]->begun().all.clear();
            parts_[part]->run_before(next + partition_.window);
        } catch (...) {   // one simulator then throws it, too
            parts_[part]->border().refuse("a part failed");
        }
    }
}

// Said in the set of the next window, as some may still read what was said for this one.
void Followers::leave() {
    said_[set_][0].leaves = true;
    barrier_.wait();
}

void Followers::follow(u64 tick) {
    if (threads_.empty()) {
        begin();
    }
    said_[set_][0] = say(0);
    said_[set_][0].next = std::min(said_[set_][0].next, tick);
    const u32 before = set_;
    barrier_.wait();
    const Said all = all_say(before);
    turn(0, set_);
    end_ = all.next + partition_.window;
    look(all, tick);
}

void Followers::turn(u32 part, u32& set) {
    const u32 read = std::exchange(set, set ^ 1U);
    parts_[part]->border().write(set);
    for (u32 other = 0; other < parts_.size(); ++other) {
        if (other != part) {
            parts_[part]->take_in(parts_[other]->border().read(read, part));
        }
    }
}

void Followers::look(const Said& all, u64 tick) {
    heard_ = first_.flows_under_way() == 0 ? tick : std::max(heard_, first_.last_heard());
    if (all.refused != nullptr) {
        throw OneThread{all.refused};
    }
    if (first_.senders().ns(tick - std::min(heard_, tick)) >= longest_wait_ns) {
        throw OneThread{"no byte was acknowledged for long"};
    }
}

void Followers::rest() {
    if (!threads_.empty()) {
        barrier_.await_others();
    }
}

void Followers::add_hops() {
    for (const auto& part : others_) {
        part->keep_hops();
    }
}

Followers::Said Followers::say(u32 part) const {
    Simulator& own = *parts_[part];
    return {std::min(own.empty() ? ~u64{0} : own.next_time(), own.border().take_earliest()), own.border().refused(), false};
}

Followers::Said Followers::all_say(u32 set) const {
    Said all;
    for (const Said& of : said_[set]) {
        all.next = std::min(all.next, of.next);
        all.refused = all.refused == nullptr ? of.refused : all.refused;
    }
    return all;
}

const Port& Followers::port(LinkId link) const {
    return parts_[partition_.part_of[first_.ports()[link.index()].from]]->ports()[link.index()];
}

Totals Followers::totals() const {
    Totals sum;
    for (const Simulator* part : parts_) {
        add_to(sum, part->totals());
    }
    return sum;
}

u64 Followers::events() const {
    u64 sum = 0;
    for (const Simulator* part : parts_) {
        sum += part->events();
    }
    return sum;
}

u64 Followers::now() const {
    u64 latest = 0;
    for (const Simulator* part : parts_) {
        latest = std::max(latest, part->now());
    }
    return latest;
}

HugeVector<Port> Followers::ports() const {
    HugeVector<Port> all = first_.ports();
    for (u32 link = 0; link < all.size(); ++link) {
        all[link] = port(LinkId(link));
    }
    return all;
}

bool Followers::is_idle() {
    rest();
    const auto has_none = [](const Said& of) { return of.next == ~u64{0}; };
    return first_.empty() && first_.border().earliest() == ~u64{0} &&
           (threads_.empty() || std::all_of(said_[set_].begin() + 1, said_[set_].end(), has_none));
}

// The others may be beyond it, so they say how their ports were then.
void Followers::note_end(u64 tick) {
    rest();
    HugeVector<Port> all = ports();
    for (const auto& part : others_) {
        part->begun().undo(tick, all);
    }
    busy_at_end_ = first_.watch().busy_at(tick, all);
}

std::shared_ptr<const Seen> Followers::seen() {
    rest();
    return first_.watch().seen(ports(), totals(), now(), busy_at_end_);
}

}  // namespace yantra::packet
