// Work under way at once ends as in a slow oracle in long doubles.
#include "memory/local_bandwidth.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr double bandwidth = 16.0;   // bytes per tick

struct Piece {
    u64 begin = 0;
    u64 ticks = 0;
    u64 bytes = 0;
};

std::vector<u64> ends_of(const std::vector<Piece>& pieces) {
    Engine engine(1);
    LocalBandwidth local(engine, bandwidth, TimeScale::picoseconds(), 1);
    std::vector<u64> ends(pieces.size(), 0);
    std::size_t ended = 0;
    for (u32 at = 0; at < pieces.size(); ++at) {
        engine.of_ranks.schedule(ActorId(0), pieces[at].begin, {Owner::execution, 0}, at);
    }
    while (!engine.queue.empty()) {
        engine.of_ranks.run(engine.queue.next().index, [&](ActorId actor, const RankEvent& event, u32) {
            RankEvent now = event;
            if (event.kind.owner() == Owner::local_bandwidth) {
                const auto due = local.due(actor, event);
                if (!due) {
                    return 1u;
                }
                now = *due;
            }
            if (now.kind.kind() == 0) {
                const Piece& piece = pieces[now.a];
                local.schedule(actor, piece.ticks, piece.bytes, {Owner::execution, 1}, now.a);
            } else {
                ends[now.a] = engine.now();
                ++ended;
            }
            return 1u;
        });
    }
    check(ended == pieces.size(), "work is lost", ended);
    return ends;
}

std::vector<long double> shares(const std::vector<long double>& wanted) {
    std::vector<long double> sorted = wanted;
    std::sort(sorted.begin(), sorted.end());
    long double left = bandwidth;
    long double level = bandwidth;   // that nobody gets more than
    for (std::size_t at = 0; at < sorted.size(); ++at) {
        level = left / static_cast<long double>(sorted.size() - at);
        if (sorted[at] > level) {
            break;
        }
        left -= sorted[at];
        level = bandwidth;
    }
    std::vector<long double> found;
    for (const long double one : wanted) {
        found.push_back(std::min(one, level));
    }
    return found;
}

std::vector<long double> slow_ends_of(const std::vector<Piece>& pieces) {
    std::vector<long double> left, ends(pieces.size(), -1.0L);
    for (const Piece& piece : pieces) {
        left.push_back(static_cast<long double>(piece.ticks));
    }
    for (long double now = 0.0L;;) {
        std::vector<std::size_t> active;
        std::vector<long double> wanted;
        long double step = -1.0L;
        for (std::size_t at = 0; at < pieces.size(); ++at) {
            const auto begin = static_cast<long double>(pieces[at].begin);
            if (begin > now) {
                step = step < 0 ? begin - now : std::min(step, begin - now);
            } else if (ends[at] < 0) {
                active.push_back(at);
                wanted.push_back(std::min<long double>(
                    static_cast<long double>(pieces[at].bytes) / pieces[at].ticks, bandwidth));
            }
        }
        if (active.empty() && step < 0) {
            return ends;
        }
        const std::vector<long double> given = shares(wanted);
        for (std::size_t at = 0; at < active.size(); ++at) {
            const long double rest = left[active[at]] * wanted[at] / given[at];
            step = step < 0 ? rest : std::min(step, rest);
        }
        now += step;
        for (std::size_t at = 0; at < active.size(); ++at) {
            left[active[at]] -= step * given[at] / wanted[at];
            if (left[active[at]] < 1e-9L) {
                ends[active[at]] = now;
            }
        }
    }
}

Piece any_piece(test::Random& random) {
    return {random.below(2000), 1 + random.below(1000), 1 + random.below(20'000)};
}

u64 end_of_kernel(u64 ticks, u64 bytes, u64 from, u64 until, TakenByCollectives taken, bool is_all_to_all = false) {
    Engine engine(1);
    LocalBandwidth local(engine, bandwidth, TimeScale::picoseconds(), 1, taken);
    constexpr EventKind begins{Owner::execution, 1}, leaves{Owner::execution, 2}, done{Owner::execution, 3};
    u64 end = 0;
    local.schedule_kernel(ActorId(0), ticks, bytes, done, 0);
    engine.of_ranks.schedule(ActorId(0), from, begins, 0);
    engine.of_ranks.schedule(ActorId(0), until, leaves, 0);
    while (!engine.queue.empty()) {
        engine.of_ranks.run(engine.queue.next().index, [&](ActorId actor, const RankEvent& event, u32) {
            const auto due = event.kind.owner() == Owner::local_bandwidth ? local.due(actor, event)
                                                                        : std::optional(event);
            if (!due) {
                return 1u;
            }
            switch (due->kind.kind()) {
                case 1: local.collective_begins(actor, is_all_to_all); break;
                case 2: local.collective_ends(actor, is_all_to_all); break;
                default: end = engine.now();
            }
            return 1u;
        });
    }
    return end;
}

void beside_collectives() {
    const TakenByCollectives quarter{0.25, 4.0};
    check(end_of_kernel(900, 0, 0, 9000, quarter) == 1200, "of the units three quarters are left", 0);
    check(end_of_kernel(900, 0, 9000, 9001, quarter) == 900, "a later collective takes nothing", 0);
    check(end_of_kernel(900, 0, 300, 700, quarter) == 1000, "it takes them for as long as it is", 0);
    check(end_of_kernel(900, 14'400, 0, 9000, quarter) == 1200, "of the bandwidth 12 are left", 0);
    check(end_of_kernel(900, 14'400, 0, 9000, {0.25, 0.0}) == 900, "who waits for bytes waits on", 0);
    check(end_of_kernel(900, 900, 0, 9000, {0.0, 4.0}) == 900, "few bytes have what they want", 0);
    check(end_of_kernel(900, 14'400, 0, 9000, {0.0, 12.0}) == 1800, "a half is the least", 0);
    check(end_of_kernel(900, 0, 0, 9000, quarter, true) == 1200, "all-to-alls are as others", 0);
    const TakenByCollectives own{0.25, 0.0, 0.5};
    check(end_of_kernel(900, 0, 0, 9000, own, true) == 1800, "or take units of their own", 0);
    check(end_of_kernel(900, 0, 0, 9000, own) == 1200, "which others do not", 0);
    check(end_of_kernel(900, 0, 0, 9000, {0.25, 0.0, 0.0}, true) == 900, "or none", 0);
}

}  // namespace

int main() {
    test::Random random(1);
    for (u32 round = 0; round < 2000; ++round) {
        const Piece alone = any_piece(random);
        check(ends_of({alone})[0] == alone.begin + alone.ticks, "alone it takes its time", round);

        std::vector<Piece> pieces;
        for (u64 left = 1 + random.below(8); left > 0; --left) {
            pieces.push_back(any_piece(random));
        }
        const std::vector<u64> fast = ends_of(pieces);
        const std::vector<long double> slow = slow_ends_of(pieces);
        for (std::size_t at = 0; at < pieces.size(); ++at) {
            const long double off = std::abs(static_cast<long double>(fast[at]) - slow[at]);
            check(off <= static_cast<long double>(2 * pieces.size()), "an end is not the oracle's", round);
            check(fast[at] >= pieces[at].begin + pieces[at].ticks, "sharing makes it faster", round);
        }
    }
    beside_collectives();
    for (u64 many = 1; many <= 8; ++many) {
        const std::vector<Piece> alike(many, Piece{0, 1000, 16'000});
        for (const u64 end : ends_of(alike)) {
            check(end == many * 1000, "equal work takes the sum of its bytes", many);
        }
    }
}
