// HybridKv: blocks of a model whose layers keep different things, from one pool.
//
// Layers are groups of equal pages: each keeps all tokens, a window of them, or a state. A group of
// windows gives up blocks behind its window. What the cache knows of a prompt is known to all groups:
// of windows only the last tokens need be there (vLLM, hybrid KV cache manager:
// kv_cache_coordinator.py, single_type_kv_cache_manager.py; no golden schedules of it exist).
// Trade-off: within iterations that are one step, who takes a block first is not played.
#pragma once

#include <algorithm>

#include "base/hash.hpp"
#include "serving/kv/paged.hpp"

namespace yantra::serving {

struct KvGroups {
    u32 whole = 1;
    u32 windowed = 0;
    u32 window = 0;   // tokens
    u32 states = 0;

    bool is_plain() const { return whole == 1 && windowed == 0 && states == 0; }
};

class HybridKv {
public:
    using Hit = PagedKv::Hit;

    HybridKv(const Requests& requests, u32 blocks, u32 block_tokens, bool is_cached, const KvGroups& groups)
        : requests_(requests), size_(block_tokens), groups_(groups), is_cached_(is_cached), blocks_(blocks),
          held_(requests.size()) {}

    u32 size() const { return size_; }
    u32 total() const { return blocks_.count(); }
    u32 free() const { return blocks_.free(); }
    u64 evicted() const { return blocks_.evicted(); }
    bool is_cached() const { return is_cached_; }

    // Whole blocks that all groups know, at most all but one token.
    Hit look_up(RequestId request, u32 tokens) {
        Hit hit;
        if (!is_cached_ || tokens == 0) {
            return hit;
        }
        Held& of = held_[request];
        const u32 most = (tokens - 1) / size_;
        while (hit.blocks < most && all_know(request, of, hit.blocks, 0, groups_.whole)) {
            ++hit.blocks;
        }
        hit.blocks = within_windows(request, of, groups_.whole > 0 ? hit.blocks : most);
        each_known(request, of, hit.blocks, [&](u32, u32, BlockId found) { hit.idle += blocks_.is_held(found) ? 0 : 1; });
        return hit;
    }
    // Blocks for its first `tokens`, the hit among them, if there are enough. Those behind the
    // windows of the token after `begun` are free from now on.
    bool hold(RequestId request, const Hit& hit, u32 begun, u32 tokens) {
        Held& of = held_[request];
        if (of.groups.empty()) {
            of.groups.resize(groups_.whole + groups_.windowed + groups_.states);
        }
        give_up_behind(of, begun);
        if (need(of, hit, begun, tokens) + hit.idle > blocks_.free()) {
            return false;
        }
        if (hit.blocks > 0) {
            for (u32 group = groups_.whole; group < paged(); ++group) {
                of.groups[group].resize(first_kept(begun), BlockId::none);
            }
            each_known(request, of, hit.blocks, [&](u32 group, u32, BlockId found) {
                blocks_.hold(found);
                of.groups[group].push_back(found);
            });
            of.known = std::max(of.known, hit.blocks);
        }
        const u32 end = blocks_for(tokens);
        for (u32 group = 0; group < paged(); ++group) {
            std::vector<BlockId>& blocks = of.groups[group];
            if (group >= groups_.whole && blocks.size() < first_kept(begun)) {
                blocks.resize(first_kept(begun), BlockId::none);
            }
            while (blocks.size() < end) {
                blocks.push_back(blocks_.take());
            }
        }
        for (u32 group = paged(); group < of.groups.size(); ++group) {
            if (of.groups[group].empty()) {
                of.groups[group].push_back(blocks_.take());
            }
        }
        return true;
    }
    bool hold(RequestId request, u32 begun, u32 tokens) { return hold(request, Hit{}, begun, tokens); }
    void publish(RequestId request, u32 tokens) {
        if (!is_cached_) {
            return;
        }
        Held& of = held_[request];
        for (const u32 whole = tokens / size_; of.known < whole; ++of.known) {
            for (u32 group = 0; group < paged(); ++group) {
                if (!of.groups[group][of.known].is_none()) {
                    blocks_.has(of.groups[group][of.known], content(request, of, of.known, group));
                }
            }
        }
    }
    void give_back(RequestId request) {
        Held& of = held_[request];
        for (std::vector<BlockId>& blocks : of.groups) {
            std::erase_if(blocks, [](BlockId block) { return block.is_none(); });
            blocks_.give_back({blocks.data(), blocks.size()});
            blocks.clear();
        }
        of.known = 0;
        of.behind = 0;
    }
    void forget(RequestId request) {
        give_back(request);
        held_[request] = {};
    }

    // At most `most` iterations of the batch, until blocks could end. The first has its blocks.
    u64 iterations_that_fit(const Batch& batch, u64 most) {
        const auto fits = [&](u64 count) {
            u64 more = 0;
            for (const Item& item : batch.items) {
                const u64 begins = blocks_for(item.context + count) - blocks_for(item.context + 1);
                const u64 kept = std::min<u64>(begins, blocks_for(groups_.window) + 1);
                more += begins * groups_.whole + kept * groups_.windowed;
            }
            return more <= blocks_.free();
        };
        u64 low = 1;
        for (u64 high = most; low < high;) {
            const u64 middle = low + (high - low + 1) / 2;
            fits(middle) ? low = middle : high = middle - 1;
        }
        return low;
    }
    // Blocks of the iterations after the first.
    void hold_ahead(const Batch& batch, u64 count) {
        for (const Item& item : batch.items) {
            for (u64 step = 1; step < count;) {
                const auto begun = static_cast<u32>(item.context + step);
                step = std::min<u64>(count, step + size_ - begun % size_);   // to the end of a block
                const auto tokens = static_cast<u32>(item.context + step);
                ensure(hold(item.request, begun, tokens), "blocks that were counted");
                publish(item.request, tokens);
            }
        }
    }

private:
    struct Held {
        std::vector<std::vector<BlockId>> groups;   // whole, windows, states; none where a window went on
        std::vector<u64> contents;
        u32 known = 0;    // blocks that others find
        u32 behind = 0;   // blocks that windows gave up
    };

    u32 paged() const { return groups_.whole + groups_.windowed; }
    u32 blocks_for(u64 tokens) const { return static_cast<u32>((tokens + size_ - 1) / size_); }
    // The first block that a window still reads for the token after `begun`.
    u32 first_kept(u32 begun) const {
        return begun + 1 > groups_.window ? (begun + 1 - groups_.window) / size_ : 0;
    }
    void give_up_behind(Held& of, u32 begun) {
        const u32 until = first_kept(begun);
        for (u32 group = groups_.whole; group < paged() && of.behind < until; ++group) {
            std::vector<BlockId>& blocks = of.groups[group];
            std::vector<BlockId> passed;
            const std::size_t end = std::min<std::size_t>(until, blocks.size());
            for (std::size_t at = of.behind; at < end; ++at) {
                if (!blocks[at].is_none()) {
                    passed.push_back(blocks[at]);
                    blocks[at] = BlockId::none;
                }
            }
            blocks_.give_back({passed.data(), passed.size()});
        }
        of.behind = std::max(of.behind, until);
    }
    u64 need(const Held& of, const Hit& hit, u32 begun, u32 tokens) const {
        const u32 end = blocks_for(tokens);
        u64 found = 0;
        for (u32 group = 0; group < paged(); ++group) {
            const auto held = std::max(static_cast<u32>(of.groups[group].size()), hit.blocks);
            const u32 begin = group < groups_.whole ? held : std::max(held, first_kept(begun));
            found += end > begin ? end - begin : 0;
        }
        return found + (of.groups.empty() || groups_.states == 0 || !of.groups.back().empty() ? 0 : groups_.states);
    }
    bool all_know(RequestId request, Held& of, u32 block, u32 from, u32 until) {
        for (u32 group = from; group < until; ++group) {
            if (blocks_.find(content(request, of, block, group)).is_none()) {
                return false;
            }
        }
        return true;
    }
    // The longest beginning of at most `most` blocks whose last window is known, or all of it.
    u32 within_windows(RequestId request, Held& of, u32 most) {
        if (groups_.windowed == 0) {
            return most;
        }
        const u32 least = blocks_for(groups_.window - 1);
        u32 run = 0;
        for (u32 at = most; at-- > 0;) {
            run = all_know(request, of, at, groups_.whole, paged()) ? run + 1 : 0;
            if (run == least) {
                return at + run;
            }
        }
        return run;
    }
    // Of a hit of so many blocks, those that a request holds from the token after it.
    template <class Visit>
    void each_known(RequestId request, Held& of, u32 count, const Visit& visit) {
        for (u32 group = 0; group < paged(); ++group) {
            const u32 begin = group < groups_.whole ? 0 : first_kept(count * size_);
            for (u32 at = begin; at < count; ++at) {
                visit(group, at, blocks_.find(content(request, of, at, group)));
            }
        }
    }
    u64 content(RequestId request, Held& of, u32 block, u32 group) {
        while (of.contents.size() <= block) {
            const auto at = static_cast<u32>(of.contents.size());
            const u64 before = at == 0 ? 0 : of.contents.back();
            of.contents.push_back(requests_.chained(before, request, at * size_, (at + 1) * size_));
        }
        return mix(of.contents[block], group);
    }

    const Requests& requests_;
    u32 size_;
    KvGroups groups_;
    bool is_cached_;
    Blocks blocks_;
    IdVector<RequestId, Held> held_;
};

}  // namespace yantra::serving
