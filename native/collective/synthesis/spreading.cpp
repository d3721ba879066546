#include "collective/synthesis/spreading.hpp"

#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>
#include <vector>

#include "base/ensure.hpp"
#include "base/interruption.hpp"
#include "engine/rng.hpp"

namespace yantra::synthesis {

namespace {

constexpr u64 purpose = 0x7ac05;

class Spreading {
public:
    Spreading(u32 ranks, const std::vector<TimedLink>& links, const std::vector<u32>& owners,
              Choice choice, u64 seed)
        : links_(links),
          choice_(choice),
          rng_(seed, purpose, 0),
          words_((owners.size() + 63) / 64),
          held_(ranks * words_),
          promised_(ranks * words_),
          lacking_(ranks, static_cast<u32>(owners.size())),
          copies_(owners.size(), 1),
          free_at_(links.size()),
          is_busy_(links.size()),
          is_listed_(links.size()),
          is_even_(std::all_of(
              links.begin(), links.end(),
              [&](const TimedLink& each) { return each.duration == links[0].duration; })),
          leaving_(ranks),
          coming_(ranks) {
        for (u32 at = 0; at < links.size(); ++at) {
            leaving_[links[at].start].push_back(at);
            coming_[links[at].end].push_back(at);
        }
        for (u32 chunk = 0; chunk < owners.size(); ++chunk) {
            add(held_, owners[chunk], chunk);
            add(promised_, owners[chunk], chunk);
            --lacking_[owners[chunk]];
        }
    }

    std::vector<Transfer> all() {
        for (u32 link = 0; link < links_.size(); ++link) {
            list(link);
        }
        send(0);
        while (!ends_.empty()) {
            look_up();
            const i64 now = std::get<0>(ends_.top());
            while (!ends_.empty() && std::get<0>(ends_.top()) == now) {
                arrive(made_[std::get<1>(ends_.top())]);
                ends_.pop();
            }
            send(now);
        }
        ensure(std::all_of(lacking_.begin(), lacking_.end(), [](u32 left) { return left == 0; }),
               "every rank reaches every other, so all chunks arrive");
        return std::move(made_);
    }

private:
    using End = std::tuple<i64, u32>;

    void add(std::vector<u64>& sets, u32 rank, u32 chunk) const {
        sets[rank * words_ + chunk / 64] |= u64{1} << chunk % 64;
    }

    [[nodiscard]] bool holds(u32 rank, u32 chunk) const {
        return (held_[rank * words_ + chunk / 64] >> chunk % 64 & 1U) != 0;
    }

    void list(u32 link) {
        if (is_busy_[link] == 0 && is_listed_[link] == 0) {
            is_listed_[link] = 1;
            listed_.push_back(link);
        }
    }

    void arrive(const Transfer& transfer) {
        const u32 rank = links_[transfer.link].end;
        is_busy_[transfer.link] = 0;
        add(held_, rank, transfer.chunk);
        for (const u32 link : leaving_[rank]) {
            list(link);
        }
        for (const u32 link : coming_[rank]) {
            list(link);
        }
    }

    void send(i64 now) {
        for (std::size_t left = listed_.size(); left > 1; --left) {
            std::swap(listed_[left - 1], listed_[rng_.below(left)]);
        }
        if (!is_even_) {
            std::stable_sort(listed_.begin(), listed_.end(), [&](u32 one, u32 other) {
                return links_[one].duration < links_[other].duration;
            });
        }
        for (const u32 link : listed_) {
            is_listed_[link] = 0;
            const u32 chunk = lacking_[links_[link].end] == 0 ? none : chosen(link);
            if (chunk != none && (is_even_ || !comes_sooner(link, chunk, now))) {
                start(link, chunk, now);
            }
        }
        listed_.clear();
    }

    void start(u32 link, u32 chunk, i64 now) {
        const u32 rank = links_[link].end;
        const i64 end = now + links_[link].duration;
        is_busy_[link] = 1;
        free_at_[link] = end;
        add(promised_, rank, chunk);
        --lacking_[rank];
        ++copies_[chunk];
        ends_.emplace(end, static_cast<u32>(made_.size()));
        made_.push_back({link, chunk, now, end});
    }

    // A uniformly random chunk, or none.
    u32 chosen(u32 link) {
        return choice_ == Choice::rarest ? chosen_of_rarest(link) : chosen_of_all(link);
    }

    u32 chosen_of_all(u32 link) {
        const u64* from = &held_[links_[link].start * words_];
        const u64* to = &promised_[links_[link].end * words_];
        u64 count = 0;
        for (u32 word = 0; word < words_; ++word) {
            count += static_cast<u64>(std::popcount(from[word] & ~to[word]));
        }
        if (count == 0) {
            return none;
        }
        u64 before = rng_.below(count);
        u32 word = 0;
        for (u64 here = 0; (here = static_cast<u64>(std::popcount(from[word] & ~to[word]))) <= before; ++word) {
            before -= here;
        }
        u64 left = from[word] & ~to[word];
        for (; before != 0; --before) {
            left &= left - 1;
        }
        return word * 64 + static_cast<u32>(std::countr_zero(left));
    }

    u32 chosen_of_rarest(u32 link) {
        const u64* from = &held_[links_[link].start * words_];
        const u64* to = &promised_[links_[link].end * words_];
        u32 fewest = none;
        rarest_.clear();
        for (u32 word = 0; word < words_; ++word) {
            for (u64 left = from[word] & ~to[word]; left != 0; left &= left - 1) {
                const u32 chunk = word * 64 + static_cast<u32>(std::countr_zero(left));
                const u32 copies = copies_[chunk];
                if (copies > fewest) {
                    continue;
                }
                if (copies < fewest) {
                    fewest = copies;
                    rarest_.clear();
                }
                rarest_.push_back(chunk);
            }
        }
        return rarest_.empty() ? none : rarest_[rng_.below(rarest_.size())];
    }

    [[nodiscard]] bool comes_sooner(u32 link, u32 chunk, i64 now) const {
        const i64 arrival = now + links_[link].duration;
        i64 brought = 0;
        for (const u32 other : coming_[links_[link].end]) {
            const TimedLink& faster = links_[other];
            if (faster.duration < links_[link].duration && holds(faster.start, chunk)) {
                const i64 ready = is_busy_[other] != 0 ? free_at_[other] : now;
                brought += std::max<i64>(0, (arrival - ready) / faster.duration);
            }
        }
        return brought >= lacking_[links_[link].end];
    }

    const std::vector<TimedLink>& links_;
    Choice choice_;
    Rng rng_;
    std::size_t words_;
    std::vector<u64> held_;      // of each rank, its chunks as bits
    std::vector<u64> promised_;  // likewise, with those on their way
    std::vector<u32> lacking_;   // how many chunks are not promised to a rank
    std::vector<u32> copies_;
    std::vector<i64> free_at_;
    std::vector<u8> is_busy_;
    std::vector<u8> is_listed_;
    bool is_even_;  // all links take equally long
    std::vector<std::vector<u32>> leaving_;
    std::vector<std::vector<u32>> coming_;
    std::vector<u32> listed_;
    std::vector<u32> rarest_;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
    std::vector<Transfer> made_;
};

}  // namespace

std::vector<Transfer> spread_chunks(u32 ranks, const std::vector<TimedLink>& links,
                                    const std::vector<u32>& owners, Choice choice, u64 seed) {
    return Spreading(ranks, links, owners, choice, seed).all();
}

}  // namespace yantra::synthesis
