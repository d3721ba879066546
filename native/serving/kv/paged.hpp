// PagedKv: which blocks each sequence holds, by number with a prefix cache. Trade-off: without one
// a count is a tenth of the work.
#pragma once

#include <algorithm>

#include "serving/asked/requests.hpp"
#include "serving/asked/batch.hpp"
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
    // Of those that stream nobody names the tokens of another.
    void arrives(RequestId request) {
        if (requests_.is_stream()) {
            held_[request].private_from = private_from(request);
        }
    }
    // Nobody else will find what it emits.
    bool is_private(RequestId request) const { return held_[request].private_from != none; }
    u32 blocks_for(u64 tokens) const { return static_cast<u32>((tokens + size_ - 1) / size_); }
    u32 held(RequestId request) const { return held_[request].count; }

    // Whole blocks, at most all but one token; nobody holds them yet.
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
    bool hold(RequestId request, const Hit& hit, u32 tokens) {
        Held& of = held_[request];
        const u32 need = blocks_for(tokens);
        const u32 more = need > of.count + hit.blocks ? need - of.count - hit.blocks : 0;
        if (more + hit.idle > free()) {
            return false;
        }
        if (of.count == 0 && more + hit.blocks > 0) {
            requests_.is_used(request, 1);
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
    bool hold(RequestId request, u32 tokens) { return hold(request, Hit{}, tokens); }
    bool hold(RequestId request, u32 /*begun*/, u32 tokens) { return hold(request, Hit{}, tokens); }
    bool hold(RequestId request, const Hit& hit, u32 /*begun*/, u32 tokens) { return hold(request, hit, tokens); }
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
    void give_back(RequestId request) {
        Held& of = held_[request];
        for (u32 at = listed_end(of); at < of.known; ++at) {
            blocks_.has(of.blocks[at], content(request, of, at));
        }
        of.private_from = none;
        release(request);
    }
    // It will not come back.
    void forget(RequestId request) {
        release(request);
        held_[request] = {};
    }


    // At most `most` iterations, until one needs more blocks than are free. The first has its blocks.
    u64 iterations_that_fit(const Batch& batch, u64 most) {
        const u32 size = size_;
        starts_block_.assign(size, 0);
        for (const Item& item : batch.items) {
            ++starts_block_[item.context % size];   // begins a block after size - this iterations
        }
        u64 left = free();
        const u64 rounds = std::min((most - 1) / size, left / batch.items.size());
        left -= rounds * batch.items.size();
        u64 count = 1 + rounds * size;
        for (; count < most; ++count) {
            const u32 need = starts_block_[(size - count % size) % size];
            if (need > left) {
                break;
            }
            left -= need;
        }
        return count;
    }

    // Blocks of the iterations after the first, in the order in which they would be taken.
    void hold_ahead(const Batch& batch, u64 count) {
        if (!is_cached_) {
            for (const Item& item : batch.items) {
                ensure(hold(item.request, item.context + static_cast<u32>(count)), "blocks that were counted");
            }
            return;
        }
        const u32 size = size_;
        by_place_.resize(size);
        for (std::vector<u32>& of : by_place_) {
            of.clear();
        }
        for (u32 at = 0; at < batch.items.size(); ++at) {
            by_place_[batch.items[at].context % size].push_back(at);
        }
        for (u64 step = 1; step < count; ++step) {
            const std::vector<u32>& begin = by_place_[(size - step % size) % size];
            const std::vector<u32>& fill = by_place_[(size - (step + 1) % size) % size];
            std::size_t next = 0;
            for (const u32 at : begin) {   // in the order of the batch
                for (; next < fill.size() && fill[next] < at; ++next) {
                    one_more(batch.items[fill[next]], step);
                }
                one_more(batch.items[at], step);
            }
            for (; next < fill.size(); ++next) {
                one_more(batch.items[fill[next]], step);
            }
        }
    }

private:
    struct Held {
        u32 count = 0;
        u32 known = 0;             // of them others find
        u32 private_from = none;   // what only this request has in it begins with this block
        std::vector<BlockId> blocks;    // with a cache
        std::vector<u64> contents;      // of whole blocks, as far as worked out
    };

    u32 listed_end(const Held& of) const { return is_tiered_ ? none : of.private_from; }
    u32 private_from(RequestId request) const {
        const auto content = requests_.content(request);
        return content.empty() ? 0 : (content.back().end + size_ - 1) / size_;
    }
    void note_private() {
        for (u32 at = 0; at < requests_.size(); ++at) {
            held_[RequestId(at)].private_from = private_from(RequestId(at));
        }
        for (const ContentSpan& span : requests_.spans) {
            if (span.source >= Requests::own_begin && span.source < Requests::own_begin + requests_.size()) {
                held_[RequestId(static_cast<u32>(span.source - Requests::own_begin))].private_from = none;
            }
        }
    }
    void release(RequestId request) {
        Held& of = held_[request];
        if (of.count > 0) {
            requests_.is_used(request, -1);
        }
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
    void one_more(const Item& item, u64 step) {
        const auto tokens = static_cast<u32>(item.context + step + 1);
        ensure(hold(item.request, tokens), "blocks that were counted");
        publish(item.request, tokens);
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
    std::vector<u32> starts_block_;
    std::vector<std::vector<u32>> by_place_;
};

}  // namespace yantra::serving
