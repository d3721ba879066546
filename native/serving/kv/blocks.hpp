// Blocks: the paged KV of an engine, and its prefix cache, which forgets what was used longest ago
// (vLLM, "Automatic Prefix Caching"; order of vLLM 0.33): free blocks queue, those with known
// content at the tail. Of two blocks with the same content the first is found.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/number_map.hpp"
#include "serving/kv/tiers.hpp"

namespace yantra::serving {

class Blocks {
public:
    explicit Blocks(u32 count) : blocks_(count), free_(count) {
        for (u32 at = 0; at < count; ++at) {
            push_back(BlockId(at));
        }
    }

    u32 count() const { return static_cast<u32>(blocks_.size()); }
    u32 free() const { return free_; }
    u64 evicted() const { return evicted_; }

    // What is evicted goes there.
    Tiers& tiers() { return tiers_; }
    // Precondition: one is free.
    BlockId take() {
        const BlockId block = head_;
        ensure(!block.is_none(), "a block where none is free");
        unlink(block);
        if (blocks_[block].has_content) {
            forget(block);
            tiers_.put(blocks_[block].content);
            ++evicted_;
        }
        blocks_[block].holders = 1;
        return block;
    }
    void give_back(std::span<const BlockId> held) {
        for (std::size_t at = held.size(); at-- > 0;) {
            Block& block = blocks_[held[at]];
            if (--block.holders > 0) {
                continue;
            }
            if (block.has_content) {
                push_back(held[at]);
            } else {
                push_front(held[at]);
            }
            ++free_;
        }
    }
    BlockId find(u64 content) {
        const BlockId* found = by_content_.find(content);
        return found == nullptr ? BlockId::none : *found;
    }
    bool is_held(BlockId block) const { return blocks_[block].holders > 0; }
    void hold(BlockId block) {
        if (blocks_[block].holders++ == 0) {
            unlink(block);
        }
    }
    void is_full(BlockId block) { blocks_[block].has_content = true; }
    void has(BlockId block, u64 content) {
        blocks_[block].content = content;
        blocks_[block].has_content = true;
        blocks_[block].is_listed = true;
        blocks_[block].twin = BlockId::none;
        if (BlockId* first = by_content_.find(content)) {
            BlockId last = *first;
            while (!blocks_[last].twin.is_none()) {
                last = blocks_[last].twin;
            }
            blocks_[last].twin = block;
        } else {
            by_content_.add(content, block);
        }
    }

private:
    struct Block {
        u64 content = 0;
        BlockId before;   // in the queue
        BlockId behind;
        BlockId twin;     // the next of equal content
        u32 holders = 0;
        bool has_content = false;
        bool is_listed = false;   // others find it
    };

    void push_back(BlockId block) { link(block, tail_, BlockId::none); }
    void push_front(BlockId block) { link(block, BlockId::none, head_); }
    void link(BlockId block, BlockId before, BlockId behind) {
        blocks_[block].before = before;
        blocks_[block].behind = behind;
        (before.is_none() ? head_ : blocks_[before].behind) = block;
        (behind.is_none() ? tail_ : blocks_[behind].before) = block;
    }
    void unlink(BlockId block) {
        const Block& of = blocks_[block];
        (of.before.is_none() ? head_ : blocks_[of.before].behind) = of.behind;
        (of.behind.is_none() ? tail_ : blocks_[of.behind].before) = of.before;
        --free_;
    }
    void forget(BlockId block) {
        Block& of = blocks_[block];
        of.has_content = false;
        if (!std::exchange(of.is_listed, false)) {
            return;
        }
        BlockId* first = by_content_.find(of.content);
        if (*first != block) {
            BlockId at = *first;
            while (blocks_[at].twin != block) {
                at = blocks_[at].twin;
            }
            blocks_[at].twin = of.twin;
        } else if (of.twin.is_none()) {
            by_content_.erase(of.content);
        } else {
            *first = of.twin;
        }
    }

    IdVector<BlockId, Block> blocks_;
    NumberMap<BlockId> by_content_;
    Tiers tiers_;
    BlockId head_;
    BlockId tail_;
    u32 free_;
    u64 evicted_ = 0;
};

}  // namespace yantra::serving
