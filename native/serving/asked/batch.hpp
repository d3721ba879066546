// Batch: what one iteration of an engine works on.
#pragma once

#include <vector>

#include "serving/asked/ids.hpp"

namespace yantra::serving {

struct Item {
    RequestId request;
    u32 tokens;     // that the iteration works on
    u32 context;    // whose KV was there before
    bool decodes;   // it has emitted before and goes on, with drafts or without; else it is a (piece of a) prompt
    bool emits;     // at the end of the iteration
};

struct Batch {
    std::vector<Item> items;   // in the engine's order
    u32 unlisted = 0;          // sequences that decode a token each and have no item
    u64 tokens = 0;
    u64 context = 0;
    u32 decoding = 0;     // items that decode, and their KV
    u64 decode_tokens = 0;
    u64 decode_context = 0;
    u32 emitting = 0;
    Time reading = 0;     // of KV from tiers, while layers run: the iteration takes at least that
    Time again = end_of_time;   // of an empty batch: when to plan again, if nothing arrives before

    void clear() { *this = {std::move(items), 0, 0, 0, 0, 0, 0, 0, 0, end_of_time}, items.clear(); }
    void add(const Item& item) {
        items.push_back(item);
        tokens += item.tokens;
        context += item.context;
        emitting += item.emits ? 1 : 0;
        if (item.decodes) {
            ++decoding;
            decode_tokens += item.tokens;
            decode_context += item.context;
        }
    }
    // Sequences that decode a token each behind `held` tokens in all.
    void add_decoding(u32 count, u64 held) {
        unlisted += count;
        tokens += count;
        context += held;
        emitting += count;
        decoding += count;
        decode_tokens += count;
        decode_context += held;
    }
    std::size_t sequences() const { return items.size() + unlisted; }
    // Its sequences are so many tokens further.
    void goes_on(u32 steps) {
        for (Item& item : items) {
            item.context += steps;
        }
        context += u64{steps} * sequences();
        decode_context += u64{steps} * decoding;
    }
    bool only_decodes() const { return decoding == sequences(); }
};

}  // namespace yantra::serving
