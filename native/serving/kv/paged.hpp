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
          blocks_(is_cached ? blocks : 0), held_(requests.size()) {
        if (is_cached) {
            note_private();
        }
    }

    u32 size() const { return size_; }
    u32 total() const { return total_; }
    u32 free() const { return is_cached_ ? blocks_.free() : free_; }
    u64 evicted() const { return blocks_.evicted(); }
    void add_tier(Tier* tier, Time per_block) {
        blocks_.tiers().add(tier, per_block);
        is_tiered_ = true;
    }
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
        const u32 most = std::min((tokens - 1) / size_, listed_end(of));
        for (; hit.blocks < most; ++hit.blocks) {
            const BlockId found = blocks_.find(content(request, of, hit.blocks));
            if (found.is_none()) {
                break;
            }
            hit.idle += blocks_.is_held(found) ? 0 : 1;
        }
        if (!blocks_.tiers().empty()) {
            look_below(request, of, most, hit);
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
            if (of.known < listed_end(of)) {
                blocks_.has(of.blocks[of.known], content(request, of, of.known));
            } else {
                blocks_.is_full(of.blocks[of.known]);
            }
        }
    }
    // It comes back, and finds what others do not ask for.
    void give_back(RequestId request) {
        Held& of = held_[request];
        for (u32 at = listed_end(of); at < of.known; ++at) {
            blocks_.has(of.blocks[at], content(request, of, at));
        }
        of.private_from = none;
        release(of);
    }
    // It will not come back.
    void forget(RequestId request) {
        release(held_[request]);
        held_[request] = {};
    }

private:
    struct Held {
        u32 count = 0;
        u32 known = 0;             // of them others find
        u32 private_from = none;   // what only this request has in it begins with this block
        Vector<BlockId> blocks;    // with a cache
        Vector<u64> contents;      // of whole blocks, as far as worked out
    };

    // Blocks from there on are not listed, as nobody else will ask for them. With tiers all are.
    u32 listed_end(const Held& of) const { return is_tiered_ ? none : of.private_from; }
    void note_private() {
        for (u32 at = 0; at < requests_.size(); ++at) {
            const auto content = requests_.content(RequestId(at));
            const u32 end = content.empty() ? 0 : content.back().end;
            held_[RequestId(at)].private_from = (end + size_ - 1) / size_;
        }
        for (const ContentSpan& span : requests_.spans) {
            if (span.source >= Requests::own(RequestId(0)) &&
                span.source < Requests::own(RequestId(requests_.size()))) {
                held_[RequestId(static_cast<u32>(span.source - Requests::own(RequestId(0))))].private_from = none;
            }
        }
    }
    void release(Held& of) {
        if (is_cached_) {
            blocks_.give_back({of.blocks.data(), of.blocks.size()});
            of.blocks.clear();
        } else {
            free_ += of.count;
        }
        of.count = 0;
        of.known = 0;
    }
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
    bool is_tiered_ = false;
    Blocks blocks_;
    IdVector<RequestId, Held> held_;
};

}  // namespace yantra::serving
