#include "model/layout.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

namespace {

constexpr u32 word_bits = 32;

template <typename Visit>
void each_member(const Model& model, const Communicator& communicator, Visit visit) {
    const Shape& shape = *model.collectives.layouts[communicator.layout].shape;
    for (u32 at = 0; at < shape.size(); ++at) {
        visit(communicator.base + shape.offset(at));
    }
}

bool lies_within(const Model& model, u32 base, const std::vector<u32>& farthest) {
    u32 stride = 1;
    for (u32 d = 0; d < farthest.size(); ++d) {
        const u32 size = model.network.dimensions[d].size;
        if (base / stride % size + farthest[d] >= size) {
            return false;
        }
        stride *= size;
    }
    return true;
}

u32 layout_at(const Model& model, const Family& family, u32 base) {
    if (!family.farthest.empty() && lies_within(model, base, family.farthest)) {
        return family.aligned_layout;
    }
    const auto found = std::find_if(family.split.begin(), family.split.end(),
                                    [&](const auto& one) { return one.first == base % family.inner; });
    return found == family.split.end() ? family.layout : found->second;
}

class Assigner {
public:
    Assigner(const Model& model, const std::vector<TemplateUse>& templates)
        : model_(model), templates_(templates), ranks_(model.ranks()) {
        out_.comm_types.resize(model.collectives.layouts.size());
    }

    Assignment run(const std::vector<u32>& template_of) {
        for (u32 rank = 0; rank < template_of.size() && out_.faulty == none; ++rank) {
            add(rank, template_of[rank]);
        }
        return std::move(out_);
    }

private:
    void add(u32 rank, u32 at) {
        const TemplateUse& use = templates_[at];
        const RankTables tables = tables_of(*use.rules, rank);
        const bool has_gap =
            std::find(tables.communicators.begin(), tables.communicators.end(), none) !=
            tables.communicators.end();
        const bool has_bad_peer =
            std::any_of(tables.peers.begin(), tables.peers.end(),
                        [&](u32 peer) { return peer == rank || peer >= ranks_; });
        if (has_gap || has_bad_peer) {
            out_.faulty = rank;
            return;
        }
        key_.assign(1, at);
        for (u32 communicator : tables.communicators) {
            key_.push_back(u32{model_.work.resources.collective[communicator]} << 8U |
                           model_.work.resources.send[communicator]);
        }
        const auto [known, fresh] = roles_.try_emplace(key_, static_cast<u32>(roles_.size()));
        if (fresh) {
            Assignment::Role role{at, rank, use.rules, {}, {}};
            for (u32 communicator : tables.communicators) {
                role.collective.push_back(model_.work.resources.collective[communicator]);
                role.send.push_back(model_.work.resources.send[communicator]);
            }
            out_.roles.push_back(std::move(role));
        }
        out_.role_of.push_back(known->second);
        for (const auto& [place, types] : use.collectives) {
            out_.comm_types[model_.collectives.communicators[tables.communicators[place]].layout] |= types;
        }
    }

    const Model& model_;
    const std::vector<TemplateUse>& templates_;
    u32 ranks_;
    Assignment out_;
    std::map<std::vector<u32>, u32> roles_;
    std::vector<u32> key_;
};

}  // namespace

Span span_of(const Model& model, const Shape& shape) {
    Span span;
    u64 whole = 0;
    u64 product = 1;
    bool is_whole = shape.ascends() && shape.offset(0) == 0;
    u32 stride = 1;
    span.lowest = none;
    for (u32 d = 0; d < model.network.dimensions.size(); ++d) {
        const u32 size = model.network.dimensions[d].size;
        std::vector<bool> present(size);
        for (u32 at = 0; at < shape.size(); ++at) {
            present[shape.offset(at) / stride % size] = true;
        }
        const auto count = std::count(present.begin(), present.end(), true);
        if (count > 1 && span.lowest == none) {
            span.lowest = d;
        }
        product *= static_cast<u64>(count);
        if (static_cast<u32>(count) == size) {
            whole |= u64{1} << d;
        } else if (count > 1) {
            is_whole = false;
        }
        std::vector<u32>& coordinates = span.coordinates.emplace_back();
        for (u32 at = 0; at < size; ++at) {
            if (present[at]) {
                coordinates.push_back(at);
            }
        }
        stride *= size;
    }
    if (product != shape.size()) {
        span.coordinates.clear();
    } else if (is_whole) {
        span.whole = whole;
    }
    return span;
}

void add_communicators(Model& model, const Family& family) {
    std::vector<u32> at(family.axes.size());
    u32 step = 0;
    u32 base = family.base;
    for (;;) {
        const std::size_t index = std::size_t{family.first_index} + step;
        if (model.collectives.communicators.size() <= index) {
            model.collectives.communicators.resize(index + 1, Communicator{0, 0, none});
        }
        model.collectives.communicators[index] = {family.first_chunk + step * family.chunks_each, base,
                                      layout_at(model, family, base)};
        std::size_t axis = 0;
        for (; axis < at.size(); ++axis) {
            const Family::Axis& along = family.axes[axis];
            base += along.base_stride;
            step += along.index_stride;
            if (++at[axis] < along.count) {
                break;
            }
            at[axis] = 0;
            base -= along.count * along.base_stride;
            step -= along.count * along.index_stride;
        }
        if (axis == at.size()) {
            return;
        }
    }
}

u32 number_queue_sets(Model& model) {
    const u32 ranks = model.ranks();
    std::size_t words = 1;
    std::vector<u32> taken(ranks, 1);   // by rank, `words` each: bits of the numbers used there
    std::vector<u32> used;
    u32 most = 0;
    model.collectives.queue_sets.assign(1, 0);
    for (std::size_t index = 1; index < model.collectives.communicators.size(); ++index) {
        used.assign(words, 0);
        each_member(model, model.collectives.communicators[index], [&](u32 rank) {
            for (std::size_t word = 0; word < words; ++word) {
                used[word] |= taken[rank * words + word];
            }
        });
        u32 lowest = 0;
        while (lowest < words * word_bits && (used[lowest / word_bits] >> lowest % word_bits & 1) != 0) {
            ++lowest;
        }
        if (lowest == words * word_bits) {   // all are: one word more for each rank
            std::vector<u32> wider(ranks * (words + 1));
            for (std::size_t at = 0; at < taken.size(); ++at) {
                wider[at / words * (words + 1) + at % words] = taken[at];
            }
            taken = std::move(wider);
            ++words;
        }
        each_member(model, model.collectives.communicators[index], [&](u32 rank) {
            taken[rank * words + lowest / word_bits] |= 1u << lowest % word_bits;
        });
        model.collectives.queue_sets.push_back(lowest);
        most = std::max(most, lowest);
    }
    return most + 1;
}

Assignment assign(const Model& model, const std::vector<TemplateUse>& templates,
                  const std::vector<u32>& template_of) {
    return Assigner(model, templates).run(template_of);
}

}  // namespace yantra
