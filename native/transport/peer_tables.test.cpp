// Members whose chunks have one number and the same phases share a table; others are reported.
#include <vector>

#include "transport/peer_tables.hpp"

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr u32 members = 3;
constexpr u32 communicators = 2;

struct SlowTable {
    u32 communicator;
    u64 number;
    std::vector<PhaseShape> phases;
    std::vector<u32> chunks;    // by member; none before it joins
    u32 left;                   // members
    u32 table;
};

std::vector<PhaseShape> any_phases(test::Random& random) {
    std::vector<PhaseShape> phases(1 + random.below(2));
    for (PhaseShape& phase : phases) {
        phase = {static_cast<u32>(random.below(2)), 0, 8};
    }
    return phases;
}

class Both {
public:
    explicit Both(u32 seed) : random_(seed), fast_(communicators) {}

    void join(u64 step) {
        const u32 communicator = static_cast<u32>(random_.below(communicators));
        const u64 number = random_.below(4);
        const std::vector<PhaseShape> phases = any_phases(random_);
        const SlowTable* same_number = nullptr;
        SlowTable* same = nullptr;
        for (SlowTable& slow : slow_) {
            if (slow.communicator == communicator && slow.number == number) {
                same_number = &slow;
                same = slow.phases == phases ? &slow : same;
            }
        }
        ChunkId other;
        const u32 table = fast_.find(communicator, number, phases, members, other);
        if (same == nullptr) {
            check(other.is_none() || (same_number != nullptr && holds(other.index(), communicator, number)),
                  "a member of other phases that is not there", step);
            check(!other.is_none() || same_number == nullptr || !anybody_in_newest(communicator, number),
                  "other phases of the same number, and nobody was told", step);
            for (const SlowTable& slow : slow_) {
                check(slow.table != table, "a table with other phases", step);
            }
            slow_.push_back({communicator, number, phases, std::vector<u32>(members, none), members, table});
            same = &slow_.back();
        } else {
            check(other.is_none() && table == same->table, "equal phases find another table", step);
        }
        check(fast_.communicator_class(table) == communicator, "a table of another communicator", step);
        const u32 member = static_cast<u32>(random_.below(members));
        if (same->chunks[member] == none) {
            check(fast_.join(table, member, ChunkId(chunks_)) == none, "an arrival out of nothing", step);
            same->chunks[member] = chunks_++;
        }
        check_chunks(step);
    }

    void leave(u64 step) {
        if (slow_.empty()) {
            return;
        }
        SlowTable& slow = slow_[random_.below(slow_.size())];
        for (u32 member = 0; member < members; ++member) {
            if (slow.chunks[member] == none || slow.chunks[member] == gone) {
                continue;
            }
            fast_.leave(slow.table, member);
            slow.chunks[member] = gone;
            if (--slow.left == 0) {
                slow_.erase(slow_.begin() + (&slow - slow_.data()));
            }
            break;
        }
        check_chunks(step);
    }

private:
    static constexpr u32 gone = none - 1;

    bool holds(u32 chunk, u32 communicator, u64 number) const {
        for (const SlowTable& slow : slow_) {
            for (u32 own : slow.chunks) {
                if (own == chunk) {
                    return slow.communicator == communicator && slow.number == number;
                }
            }
        }
        return false;
    }
    bool anybody_in_newest(u32 communicator, u64 number) const {
        for (std::size_t at = slow_.size(); at-- > 0;) {
            if (slow_[at].communicator == communicator && slow_[at].number == number) {
                for (u32 chunk : slow_[at].chunks) {
                    if (chunk < gone) {
                        return true;
                    }
                }
                return false;
            }
        }
        return false;
    }
    void check_chunks(u64 step) const {
        for (const SlowTable& slow : slow_) {
            for (u32 member = 0; member < members; ++member) {
                const u32 chunk = slow.chunks[member] < gone ? slow.chunks[member] : none;
                check(fast_.chunk(slow.table, member).index() == chunk, "another chunk joined", step);
            }
        }
    }

    test::Random random_;
    PeerTables fast_;
    std::vector<SlowTable> slow_;
    u32 chunks_ = 0;
};

void arrivals_that_are_early_keep_their_order() {
    PeerTables tables(1);
    ChunkId other;
    const std::vector<PhaseShape> phases(1);
    const u32 table = tables.find(0, 0, phases, members, other);
    test::Random random(0);
    std::vector<std::vector<u32>> came(members);
    for (u32 mark = 0; mark < 100; ++mark) {
        const u32 member = static_cast<u32>(random.below(members));
        tables.wait_for_member(tables.keep_early({table, member, mark, none}));
        came[member].push_back(mark);
    }
    for (u32 member = 0; member < members; ++member) {
        u32 early = tables.join(table, member, ChunkId(member));
        while (!came[member].empty()) {
            check(early != none && tables.early(early).member == member, "an arrival is lost", member);
            check(tables.early(early).mark == came[member].back(), "arrivals in another order", member);
            came[member].pop_back();
            const u32 next = tables.early(early).next;
            tables.forget_early(early);
            early = next;
        }
        check(early == none, "an arrival too many", member);
        check(tables.join(table, member, ChunkId(member)) == none, "arrivals come twice", member);
    }
}

void a_table_goes_with_its_last_member() {
    PeerTables tables(1);
    ChunkId other;
    const std::vector<PhaseShape> phases(2);
    const u32 table = tables.find(0, 5, phases, 2, other);
    tables.join(table, 0, ChunkId(0));
    tables.join(table, 1, ChunkId(1));
    tables.leave(table, 0);
    check(tables.find(0, 5, phases, 2, other) == table, "a table went before its last member", 0);
    tables.leave(table, 1);
    check(tables.state().by_number[0][5] == none, "a table stayed without members", 0);
    check(tables.find(0, 6, phases, 2, other) == table, "the place of a table is not used again", 0);
}

}  // namespace

int main() {
    arrivals_that_are_early_keep_their_order();
    a_table_goes_with_its_last_member();
    for (u32 seed = 0; seed < 20; ++seed) {
        Both both(seed);
        for (u64 step = 0; step < 1000; ++step) {
            both.join(step);
            both.leave(step);
        }
    }
}
