#include "collective/synthesis/proof.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/interruption.hpp"

namespace yantra::synthesis {

namespace {

bool receives(StepKind kind) { return kind == StepKind::receive || kind == StepKind::add; }

u32 end_of(const Steps& of, u32 lane) {
    return lane + 1 < of.lanes.size() ? of.lanes[lane + 1].begin : static_cast<u32>(of.steps.size());
}

// The k-th send of a connection is its k-th receive.
class Messages {
public:
    explicit Messages(const Steps& of) : partner(of.steps.size(), none) {
        std::unordered_map<u64, std::pair<u32, u32>> ends;  // of a connection: the lanes that send and receive
        for (u32 lane = 0; lane < of.lanes.size(); ++lane) {
            const Lane& at = of.lanes[lane];
            const u64 connection = at.sends ? u64{at.rank} << 32U | at.peer : u64{at.peer} << 32U | at.rank;
            auto& [sender, receiver] = ends.try_emplace(connection, none, none).first->second;
            u32& own = at.sends ? sender : receiver;
            ensure(own == none, "a connection has one thread block at each end");
            own = lane;
        }
        connections = ends.size();
        for (const auto& [connection, lanes] : ends) {
            match(of, lanes.first, lanes.second);
        }
    }

    std::vector<u32> partner;
    u64 connections = 0;
    u64 count = 0;
    u32 odd = none;  // a step without a partner that fits

private:
    static std::vector<u32> ends_of(const Steps& of, u32 lane) {
        std::vector<u32> ends;
        for (u32 at = lane == none ? 0 : of.lanes[lane].begin; lane != none && at < end_of(of, lane); ++at) {
            if (of.steps[at].kind != StepKind::nop) {
                ends.push_back(at);
            }
        }
        return ends;
    }

    void match(const Steps& of, u32 sender, u32 receiver) {
        const std::vector<u32> sends = ends_of(of, sender);
        const std::vector<u32> receipts = ends_of(of, receiver);
        for (std::size_t at = 0; at < std::max(sends.size(), receipts.size()); ++at) {
            if (at >= sends.size() || at >= receipts.size() ||
                of.steps[sends[at]].count != of.steps[receipts[at]].count) {
                odd = at < receipts.size() ? receipts[at] : sends[at];
                return;
            }
            partner[sends[at]] = receipts[at];
            partner[receipts[at]] = sends[at];
            ++count;
        }
    }
};

// Fewer if some wait for ever.
class Sequence {
public:
    Sequence(const Steps& of, const Messages& messages)
        : left_(of.steps.size()), first_(of.steps.size() + 1), length_(of.steps.size(), 1) {
        const auto count = static_cast<u32>(of.steps.size());
        for (const Step& step : of.steps) {
            first_[step.needs == none ? count : step.needs] += 1;
        }
        u32 sum = 0;
        for (u32& each : first_) {
            each = std::exchange(sum, sum + each);
        }
        std::vector<u32> next(first_.begin(), first_.end() - 1);
        waiting_.resize(first_[count]);
        for (u32 at = 0; at < count; ++at) {
            const Step& step = of.steps[at];
            if (step.needs != none) {
                waiting_[next[step.needs]++] = at;
            }
            left_[at] = static_cast<u8>((step.needs != none) + (at != of.lanes[step.lane].begin) +
                                        receives(step.kind));
            if (left_[at] == 0) {
                order.push_back(at);
            }
        }
        walk(of, messages);
    }

    std::vector<u32> order;
    u64 depth = 0;

private:
    void walk(const Steps& of, const Messages& messages) {
        for (std::size_t next = 0; next < order.size(); ++next) {
            const u32 at = order[next];
            const Step& step = of.steps[at];
            depth = std::max<u64>(depth, length_[at]);
            if (at + 1 < end_of(of, step.lane)) {
                ready(at + 1, length_[at]);
            }
            if (step.kind == StepKind::send) {
                ready(messages.partner[at], length_[at]);
            }
            for (u32 other = first_[at]; other < first_[at + 1]; ++other) {
                ready(waiting_[other], length_[at]);
            }
        }
    }

    void ready(u32 step, u32 before) {
        length_[step] = std::max(length_[step], before + 1);
        if (--left_[step] == 0) {
            order.push_back(step);
        }
    }

    std::vector<u8> left_;
    std::vector<u32> first_;  // of each step, where those that need it begin in `waiting_`
    std::vector<u32> waiting_;
    std::vector<u32> length_;
};

// Set 0 is empty, set r + 1 is rank r alone.
class Held {
public:
    Held(const Steps& of, Promise promise)
        : words_((of.ranks + 63) / 64), blocks_(of.blocks), sets_((of.ranks + 1) * words_), held_(of.ranks * blocks_) {
        const u32 each = of.blocks / of.ranks;
        for (u32 rank = 0; rank < of.ranks; ++rank) {
            sets_[(rank + 1) * words_ + rank / 64] |= u64{1} << rank % 64;
            const bool has_all = promise != Promise::all_gather;
            const u32 begin = has_all ? 0 : rank * each;
            for (u32 block = begin; block < (has_all ? of.blocks : begin + each); ++block) {
                held_[rank * blocks_ + block] = {block, rank + 1};
            }
        }
    }

    struct Value {
        u32 block = 0;
        u32 set = 0;
    };

    Value& at(u32 rank, u32 block) { return held_[rank * blocks_ + block]; }

    bool add(Value& here, const Value& came) {
        if (here.block != came.block || here.set == 0 || came.set == 0) {
            return false;
        }
        const std::size_t made = sets_.size();
        sets_.resize(made + words_);
        for (std::size_t word = 0; word < words_; ++word) {
            const u64 one = sets_[here.set * words_ + word];
            const u64 other = sets_[came.set * words_ + word];
            if ((one & other) != 0) {
                return false;
            }
            sets_[made + word] = one | other;
        }
        here.set = static_cast<u32>(made / words_);
        return true;
    }

    [[nodiscard]] bool is_sum_of_all(u32 set, u32 ranks) const {
        u64 count = 0;
        for (std::size_t word = 0; word < words_; ++word) {
            count += static_cast<u64>(std::popcount(sets_[set * words_ + word]));
        }
        return count == ranks;
    }

private:
    std::size_t words_;
    std::size_t blocks_;
    std::vector<u64> sets_;
    std::vector<Value> held_;
};

class Player {
public:
    Player(const Steps& of, const Messages& messages, Promise promise)
        : of_(of), messages_(messages), promise_(promise), held_(of, promise), payload_(of.steps.size()) {}

    Proof play(const std::vector<u32>& order) {
        for (const u32 at : order) {
            look_up();
            const Step& step = of_.steps[at];
            const char* wrong = step.kind == StepKind::send ? send(at) : receives(step.kind) ? receive(at) : nullptr;
            if (wrong != nullptr) {
                return {wrong, at};
            }
        }
        return {unmet() ? "a rank does not end with what the collective promises" : nullptr};
    }

private:
    const char* send(u32 at) {
        const Step& step = of_.steps[at];
        const u32 rank = of_.lanes[step.lane].rank;
        std::vector<Held::Value>& carried = payload_[at];
        carried.reserve(step.count);
        for (u32 block = step.first; block < step.first + step.count; ++block) {
            carried.push_back(held_.at(rank, block));
            if (carried.back().set == 0) {
                return "a step sends what nobody has written";
            }
        }
        return nullptr;
    }

    const char* receive(u32 at) {
        const Step& step = of_.steps[at];
        const u32 rank = of_.lanes[step.lane].rank;
        const std::vector<Held::Value> came = std::move(payload_[messages_.partner[at]]);
        for (u32 number = 0; number < step.count; ++number) {
            Held::Value& here = held_.at(rank, step.first + number);
            if (step.kind == StepKind::receive) {
                here = came[number];
            } else if (!held_.add(here, came[number])) {
                return "a step adds what is not of one block or already in the sum";
            }
        }
        return nullptr;
    }

    bool unmet() {
        const u32 each = of_.blocks / of_.ranks;
        for (u32 rank = 0; rank < of_.ranks; ++rank) {
            const bool needs_all = promise_ != Promise::reduce_scatter;
            const u32 begin = needs_all ? 0 : rank * each;
            for (u32 block = begin; block < (needs_all ? of_.blocks : begin + each); ++block) {
                const Held::Value& has = held_.at(rank, block);
                const bool is_right = promise_ == Promise::all_gather ? has.set == block / each + 1
                                                                      : held_.is_sum_of_all(has.set, of_.ranks);
                if (has.block != block || !is_right) {
                    return true;
                }
            }
        }
        return false;
    }

    const Steps& of_;
    const Messages& messages_;
    Promise promise_;
    Held held_;
    std::vector<std::vector<Held::Value>> payload_;  // of each send that was not received
};

// Whether conflicting accesses of a rank are ordered (vector clocks of Fidge and Mattern).
class Races {
public:
    Races(const Steps& of, const std::vector<u32>& order) : of_(of) {
        std::vector<std::vector<u32>> of_rank(of.ranks);
        for (const u32 at : order) {
            look_up();
            of_rank[of.lanes[of.steps[at].lane].rank].push_back(at);
        }
        row_.resize(of.steps.size());
        u32 lane = 0;
        for (u32 rank = 0; rank < of.ranks && found == none; ++rank) {
            first_lane_ = lane;
            while (lane < of.lanes.size() && of.lanes[lane].rank == rank) {
                ++lane;
            }
            look(of_rank[rank], lane - first_lane_);
        }
    }

    u32 found = none;

private:
    void look(const std::vector<u32>& order, u32 lanes) {
        lanes_ = lanes;
        clocks_.assign(order.size() * lanes, 0);
        written_.assign(of_.blocks, none);
        read_.resize(of_.blocks);
        for (auto& each : read_) {
            each.clear();
        }
        for (u32 row = 0; row < order.size() && found == none; ++row) {
            const u32 at = order[row];
            row_[at] = row;
            set_clock(at);
            access(at);
        }
    }

    void set_clock(u32 at) {
        const Step& step = of_.steps[at];
        u32* own = &clocks_[std::size_t{row_[at]} * lanes_];
        const u32 begin = of_.lanes[step.lane].begin;
        for (const u32 earlier : {at > begin ? at - 1 : none, step.needs}) {
            if (earlier != none) {
                const u32* other = &clocks_[std::size_t{row_[earlier]} * lanes_];
                for (u32 lane = 0; lane < lanes_; ++lane) {
                    own[lane] = std::max(own[lane], other[lane]);
                }
            }
        }
        own[step.lane - first_lane_] = at - begin + 1;
    }

    void access(u32 at) {
        const Step& step = of_.steps[at];
        for (u32 block = step.first; block < step.first + step.count; ++block) {
            must_follow(written_[block], at);
            if (step.kind == StepKind::send) {
                read_[block].push_back(at);
                continue;
            }
            for (const u32 reader : read_[block]) {
                must_follow(reader, at);
            }
            read_[block].clear();
            written_[block] = at;
        }
    }

    void must_follow(u32 earlier, u32 at) {
        if (earlier == none) {
            return;
        }
        const u32 lane = of_.steps[earlier].lane;
        const u32 known = clocks_[std::size_t{row_[at]} * lanes_ + (lane - first_lane_)];
        if (known <= earlier - of_.lanes[lane].begin) {
            found = at;
        }
    }

    const Steps& of_;
    u32 first_lane_ = 0;
    u32 lanes_ = 0;
    std::vector<u32> row_;  // of a step among those of its rank
    std::vector<u32> clocks_;
    std::vector<u32> written_;
    std::vector<std::vector<u32>> read_;
};

}  // namespace

Proof prove(const Steps& steps, Promise promise) {
    ensure(steps.ranks > 0 && steps.blocks >= steps.ranks && steps.blocks % steps.ranks == 0,
           "a proof needs equally many blocks of each rank");
    const Messages messages(steps);
    if (messages.odd != none) {
        return {"a message has no sender or receiver that fits", messages.odd};
    }
    const Sequence sequence(steps, messages);
    if (sequence.order.size() < steps.steps.size()) {
        return {"steps wait for each other"};
    }
    Proof proof = Player(steps, messages, promise).play(sequence.order);
    if (proof.wrong != nullptr) {
        return proof;
    }
    if (const Races races(steps, sequence.order); races.found != none) {
        return {"two steps of a rank touch a block in no order", races.found};
    }
    proof.messages = messages.count;
    proof.connections = messages.connections;
    proof.depth = sequence.depth;
    return proof;
}

}  // namespace yantra::synthesis
