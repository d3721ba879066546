// PagedKv: which blocks each sequence holds, by count alone or, with a prefix cache, by number.
//
// Trade-off: without a cache blocks are all alike, and a count is a tenth of the work.
#pragma once

#include <algorithm>

#include "serving/asked/requests.hpp"
#include "serving/kv/blocks.hpp"

namespace yantra::serving {

class PagedKv {
public:
    PagedKv(const Requests& requests, u32 blocks, u32 block_tokens, bool is_cached)
        : requests_(requests), size_(block_tokens), total_(blocks), free_(blocks), is_cached_(is_cached),
          blocks_(is_cached ? blocks : 0), held_(requests.size()) {}

    u32 size() const { return size_; }
    u32 total() const { return total_; }
    u32 free() const { return is_cached_ ? blocks_.free() : free_; }
    u64 evicted() const { return blocks_.evicted(); }
    Tiers& tiers() { return blocks_.tiers(); }
    bool is_cached() const { return is_cached_; }
    u32 blocks_for(u64 tokens) const { return static_cast<u32>((tokens + size_ - 1) / size_); }
    u32 held(RequestId request) const { return held_[request].count; }

    // Whole blocks of the first `tokens` of a request that the cache has, at most all but one token.
    // They are held by nobody on its behalf yet.
    struct Hit {
        u32 blocks = 0;
        u32 idle = 0;      // of them nobody holds
        u32 read = 0;      // blocks behind them that a tier has
        Time reading = 0;  // the time for those

        u32 all() const { return blocks + read; }
    };
    Hit look_up(RequestId request, u32 tokens) {
        Hit hit;
        if (!is_cached_ || tokens == 0) {
            return hit;
        }
        Held& of = held_[request];
        for (const u32 most = (tokens - 1) / size_; hit.blocks < most; ++hit.blocks) {
            const BlockId found = blocks_.find(content(request, of, hit.blocks));
            if (found.is_none()) {
                break;
            }
            hit.idle += blocks_.is_held(found) ? 0 : 1;
        }
        if (!blocks_.tiers().empty()) {
            look_below(request, of, (tokens - 1) / size_, hit);
        }
        return hit;
    }
    // Blocks for its first `tokens`, the hit among them, if there are enough.
    bool hold(RequestId request, const Hit& hit, u32 tokens) {
        Held& of = held_[request];
        const u32 need = blocks_for(tokens);
        const u32 more = need > of.count + hit.blocks ? need - of.count - hit.blocks : 0;
        if (more + hit.idle > free()) {
            return false;
        }
        if (!is_cached_) {
            of.count += more;
            free_ -= more;
            return true;
        }
        for (u32 at = 0; at < hit.blocks; ++at) {
            const BlockId found = blocks_.find(content(request, of, at));
            blocks_.hold(found);
            of.blocks.push_back(found);
        }
        for (u32 at = hit.blocks; at < hit.all(); ++at) {
            blocks_.tiers().touch(content(request, of, at));
        }
        for (u32 at = 0; at < more; ++at) {
            of.blocks.push_back(blocks_.take());
        }
        of.count += hit.blocks + more;
        of.known = std::max(of.known, hit.blocks);
        return true;
    }
    bool hold(RequestId request, u32 tokens) { return hold(request, {}, tokens); }
    // From now on others find its whole blocks among the first `tokens`.
    void publish(RequestId request, u32 tokens) {
        if (!is_cached_) {
            return;
        }
        Held& of = held_[request];
        for (const u32 whole = tokens / size_; of.known < whole; ++of.known) {
            blocks_.has(of.blocks[of.known], content(request, of, of.known));
        }
    }
    void give_back(RequestId request) {
        Held& of = held_[request];
        if (is_cached_) {
            blocks_.give_back({of.blocks.data(), of.blocks.size()});
            of.blocks.clear();
        } else {
            free_ += of.count;
        }
        of.count = 0;
        of.known = 0;
    }
    // It will not come back.
    void forget(RequestId request) {
        give_back(request);
        held_[request] = {};
    }

private:
    struct Held {
        u32 count = 0;
        u32 known = 0;             // of them others find
        Vector<BlockId> blocks;    // with a cache
        Vector<u64> contents;      // of whole blocks, as far as worked out
    };

    void look_below(RequestId request, Held& of, u32 most, Hit& hit) {
        while (hit.all() < most) {
            const u64 next = content(request, of, hit.all());
            const Time time = blocks_.find(next).is_none() ? blocks_.tiers().find(next) : no_time;
            if (time == no_time) {
                return;
            }
            ++hit.read;
            hit.reading += time;
        }
    }
    u64 content(RequestId request, Held& of, u32 block) {
        while (of.contents.size() <= block) {
            const auto at = static_cast<u32>(of.contents.size());
            const u64 before = at == 0 ? 0 : of.contents.back();
            of.contents.push_back(requests_.chained(before, request, at * size_, (at + 1) * size_));
        }
        return of.contents[block];
    }

    const Requests& requests_;
    u32 size_;
    u32 total_;
    u32 free_;
    bool is_cached_;
    Blocks blocks_;
    IdVector<RequestId, Held> held_;
};

}  // namespace yantra::serving
