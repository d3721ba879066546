#include "network/packet/episode_tree.hpp"

#include <algorithm>
#include <utility>

namespace yantra::packet {

namespace {

constexpr std::size_t most_kept = std::size_t{1} << 22;   // 200 MB
constexpr std::size_t most_branches = 16;

u64 hash_of(const EpisodeTree::Batch& batch) {
    StateHash hash;
    for (const FlowSpec& flow : batch.sent) {
        hash.add(flow.bytes);
        hash.add(u64{flow.data_route} << 32U | flow.ack_route);
        hash.add(flow.order);
    }
    return hash.value().one;
}

bool is_like(const EpisodeTree::Node& node, const EpisodeTree::Batch& batch) {
    return node.after == batch.after && node.is_after == batch.is_after &&
           std::equal(batch.sent.begin(), batch.sent.end(), node.sent.begin(), node.sent.end(), are_alike);
}

}  // namespace

bool EpisodeTree::Node::is_full() const { return next.size() >= most_branches; }

u32 EpisodeTree::first(const Batch& batch, const std::vector<bool>& turns) const {
    const auto alike = first_.find(hash_of(batch));
    if (alike == first_.end()) {
        return none;
    }
    const auto found = std::find_if(alike->second.begin(), alike->second.end(), [&](u32 node) {
        return nodes_[node].turns_before == turns && is_like(nodes_[node], batch);
    });
    return found == alike->second.end() ? none : *found;
}

u32 EpisodeTree::next(u32 of, const Batch& batch) const {
    const std::vector<u32>& among = nodes_[of].next;
    const auto found = std::find_if(among.begin(), among.end(), [&](u32 node) { return is_like(nodes_[node], batch); });
    return found == among.end() ? none : *found;
}

u32 EpisodeTree::add(const Batch& batch) {
    Node made;
    made.after = made.known = batch.after;
    made.is_after = batch.is_after;
    made.sent.assign(batch.sent.begin(), batch.sent.end());
    kept_ += batch.sent.size();
    nodes_.push_back(std::move(made));
    return static_cast<u32>(nodes_.size() - 1);
}

u32 EpisodeTree::add_first(const Batch& batch, std::vector<bool> turns) {
    const u32 made = add(batch);
    nodes_[made].turns_before = std::move(turns);
    first_[hash_of(batch)].push_back(made);
    return made;
}

// Of a node that was being simulated, all until the next batch has been heard.
u32 EpisodeTree::add_next(u32 of, const Batch& batch) {
    Node& before = nodes_[of];
    if (!before.is_last && (batch.after > before.known || (batch.after == before.known && batch.is_after))) {
        before.known = batch.after;
        before.with_it = batch.is_after;
    }
    const u32 made = add(batch);
    nodes_[of].next.push_back(made);
    return made;
}

bool EpisodeTree::hear(u32 of, const Heard& heard) {
    nodes_[of].heard.push_back(heard);
    return ++kept_ <= 2 * most_kept;
}

void EpisodeTree::leave_out_unknown(u32 of) {
    std::vector<Heard>& heard = nodes_[of].heard;
    while (!heard.empty() && !nodes_[of].knows(heard.back().after)) {
        heard.pop_back();
    }
}

void EpisodeTree::forget_if_full() {
    if (kept_ > most_kept) {
        nodes_.clear();
        first_.clear();
        kept_ = 0;
    }
}

}  // namespace yantra::packet
