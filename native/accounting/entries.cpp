#include "accounting/entries.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

namespace yantra {

namespace {

// By tick, then place.
struct Entered {
    u32 name;
    std::vector<std::pair<u64, u32>> at;
};

class Entries {
public:
    Entries(const Model& model, Outcome& outcome) : model_(model), outcome_(outcome) {
        const u32 ranks = model.ranks();
        blocks_ = outcome.folded ? highest_class() + 1 : ranks;
        std::vector<bool> seen(blocks_);
        for (u32 rank = 0; rank < ranks; ++rank) {
            if (!seen[block(rank)]) {
                seen[block(rank)] = true;
                representatives_.push_back(rank);
            }
        }
    }

    void note() {
        for (u32 rank : representatives_) {
            const Job& job = model_.work.job(rank);
            for (const auto& [name, at] : entered(rank)) {
                const u32 communicator = model_.work.communicator_at(rank, name);
                const std::vector<u64>& last = last_of(communicator);
                const auto mine = entries_of(rank, communicator);
                for (std::size_t k = 0; k < mine.size(); ++k) {
                    const auto& [start, place] = mine[k];
                    const Op& op = job.ops[place - outcome_.first_node[rank]];
                    if (op.communicator == name && over_all_dimensions(op)) {
                        waits(place, start, last[k]);
                    }
                }
            }
        }
    }

private:
    u32 highest_class() const {
        return *std::max_element(outcome_.class_of.begin(), outcome_.class_of.end());
    }
    u32 block(u32 rank) const { return outcome_.folded ? outcome_.class_of[rank] : rank; }
    bool over_all_dimensions(const Op& op) const {
        const u64 all = (u64{1} << model_.network.dimensions.size()) - 1;
        return (op.involved & all) == all;
    }

    // Ranks of a class may number communicators differently.
    const std::vector<Entered>& entered(u32 rank) {
        const auto [found, is_new] = entered_.try_emplace(u64{block(rank)} << 32U | model_.work.job_of[rank]);
        if (is_new) {
            found->second = look(rank);
        }
        return found->second;
    }

    std::vector<Entered> look(u32 rank) const {
        std::vector<Entered> all;
        const Job& job = model_.work.job(rank);
        for (u32 node = 0; node < job.ops.size(); ++node) {
            const Op& op = job.ops[node];
            const u32 place = static_cast<u32>(outcome_.first_node[rank]) + node;
            if (op.kind != OpKind::collective || outcome_.start[place] == never) {
                continue;
            }
            auto found = std::find_if(all.begin(), all.end(), [&op](const Entered& entered) {
                return entered.name == op.communicator;
            });
            if (found == all.end()) {
                found = all.insert(all.end(), {op.communicator, {}});
            }
            found->at.emplace_back(outcome_.start[place], place);
        }
        for (Entered& one : all) {
            if (!std::is_sorted(one.at.begin(), one.at.end())) {
                std::sort(one.at.begin(), one.at.end());
            }
        }
        return all;
    }

    std::vector<std::pair<u64, u32>> entries_of(u32 rank, u32 communicator) {
        std::vector<std::pair<u64, u32>> entries;
        for (const auto& [name, at] : entered(rank)) {
            if (model_.work.communicator_at(rank, name) == communicator) {
                const auto middle = static_cast<std::ptrdiff_t>(entries.size());
                entries.insert(entries.end(), at.begin(), at.end());
                if (middle != 0) {
                    std::inplace_merge(entries.begin(), entries.begin() + middle, entries.end());
                }
            }
        }
        return entries;
    }

    // `never` if some member did not enter.
    const std::vector<u64>& last_of(u32 communicator) {
        const auto [found, is_new] = last_.try_emplace(communicator);
        std::vector<u64>& last = found->second;
        if (!is_new) {
            return last;
        }
        const u32 base = model_.collectives.communicators[communicator].base;
        const Shape& shape = *model_.collectives.layout_of(communicator).shape;
        std::vector<bool> seen(blocks_);
        for (u32 at = 0; at < shape.size(); ++at) {
            const u32 rank = base + shape.offset(at);
            if (seen[block(rank)]) {
                continue;
            }
            seen[block(rank)] = true;
            const auto entries = entries_of(rank, communicator);
            if (last.size() < entries.size()) {
                last.resize(entries.size(), at == 0 ? 0 : never);
            }
            for (std::size_t k = 0; k < last.size(); ++k) {
                const u64 start = k < entries.size() ? entries[k].first : never;
                last[k] = std::max(last[k], start);
            }
        }
        return last;
    }

    void waits(u32 place, u64 start, u64 last) {
        if (last == never || last <= start || last > outcome_.end[place]) {
            return;
        }
        if (outcome_.begun.size() <= place) {
            outcome_.begun.resize(outcome_.start.size(), never);
        }
        outcome_.begun[place] = last;
    }

    const Model& model_;
    Outcome& outcome_;
    u32 blocks_ = 0;
    std::unordered_map<u64, std::vector<Entered>> entered_;
    std::vector<u32> representatives_;
    std::unordered_map<u32, std::vector<u64>> last_;
};

}  // namespace

void note_entries(const Model& model, Outcome& outcome) {
    if (outcome.start.size() == outcome.first_node.back()) {
        Entries(model, outcome).note();
    }
}

}  // namespace yantra
