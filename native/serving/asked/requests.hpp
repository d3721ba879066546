// Requests: what is asked of the engines, as columns. Prompts share a prefix as long as sources and
// positions of tokens are equal; positions after the last span are a request's own.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "serving/asked/ids.hpp"

namespace yantra::serving {

struct ContentSpan {
    u64 source;
    u32 end;
};

struct Requests {
    IdVector<RequestId, Time> arrival;   // of one that follows another, the earliest
    IdVector<RequestId, u32> prompt;     // tokens
    IdVector<RequestId, u32> output;     // tokens that it will have; engines see them end, and no sooner
    IdVector<RequestId, u32> limit;      // most tokens that it asks for
    IdVector<RequestId, i64> priority;   // the lowest goes first
    IdVector<RequestId, u32> user;
    IdVector<RequestId, u32> adapter;    // of its weights (LoRA); 0: none
    IdVector<RequestId, u64> session;    // of a conversation; all ones: none
    IdVector<RequestId, RequestId> after;   // it arrives no sooner than `delay` after that has ended; none: nobody
    IdVector<RequestId, Time> delay;
    std::vector<u32> span_begin;              // one more than requests
    std::vector<ContentSpan> spans;
    std::vector<u32> accepted_begin;          // one more than requests, or empty
    std::vector<u32> accepted;                // drafts that are right, by step, in a circle

    // Of those that stream, at a place that others had before and others will have (Stream).
    IdVector<RequestId, u64> row;              // in the file, or empty
    std::vector<std::vector<ContentSpan>> its_spans;
    mutable IdVector<RequestId, u32> uses;     // by which engines still need what it is

    static constexpr u64 own_begin = u64{1} << 62U;
    bool is_stream() const { return !row.empty(); }
    u64 order(RequestId request) const { return is_stream() ? row[request] : request.index(); }
    u64 own(RequestId request) const { return own_begin + order(request); }
    void is_used(RequestId request, i32 more) const {
        if (is_stream()) {
            uses[request] += static_cast<u32>(more);
        }
    }

    u32 size() const { return static_cast<u32>(prompt.size()); }
    std::span<const ContentSpan> content(RequestId request) const {
        if (is_stream()) {
            return its_spans[request.index()];
        }
        const u32 begin = span_begin[request.index()];
        return {spans.data() + begin, span_begin[request.index() + 1] - begin};
    }
    // The same for equal tokens from `begin` to `end` behind the same `before`, under one adapter.
    u64 chained(u64 before, RequestId request, u32 begin, u32 end) const {
        const auto all = content(request);
        auto span = std::upper_bound(all.begin(), all.end(), begin,
                                     [](u32 at, const ContentSpan& of) { return at < of.end; });
        u64 hash = begin == 0 && adapter[request] > 0 ? mixed(before ^ adapter[request]) : before;
        u64 last = 0;
        for (u32 at = begin; at < end;) {
            const bool is_own = span == all.end();
            const u64 source = is_own ? own(request) : span->source;
            const u32 until = is_own ? end : std::min(end, span->end);
            if (at == begin || source != last) {   // equal neighbours are one
                hash = mixed(mixed(hash ^ source) + at);
            }
            last = source;
            at = until;
            if (!is_own) {
                ++span;
            }
        }
        return mixed(hash + end);
    }
    u32 accepts(RequestId request, u32 step) const {
        const u32 begin = accepted_begin[request.index()];
        const u32 count = accepted_begin[request.index() + 1] - begin;
        return count == 0 ? 0 : accepted[begin + step % count];
    }

private:
    static u64 mixed(u64 word) {   // splitmix64's last step (Steele, Lea and Flood, OOPSLA 2014)
        word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        word = (word ^ (word >> 27U)) * 0x94d049bb133111ebULL;
        return word ^ (word >> 31U);
    }
};

}  // namespace yantra::serving
