// Batch: what one iteration of an engine works on.
#pragma once

#include "base/vector.hpp"
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
    Vector<Item> items;   // in the engine's order
    u64 tokens = 0;
    u64 context = 0;
    u32 decoding = 0;     // items that decode, and their KV
    u64 decode_tokens = 0;
    u64 decode_context = 0;
    u32 emitting = 0;
    Time reading = 0;     // of KV from tiers, while layers run: the iteration takes at least that
    Time again = end_of_time;   // of an empty batch: when to plan again, if nothing arrives before

    void clear() { *this = {std::move(items), 0, 0, 0, 0, 0, 0, 0, end_of_time}, items.clear(); }
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
    bool only_decodes() const { return decoding == items.size(); }
};

}  // namespace yantra::serving
