// RadixKv: pages of KV, and a tree of those with known content; a node is a run of whole pages.
// Leaves that nobody pins are given up, the one used longest ago first (SGLang, Zheng et al.,
// NeurIPS 2024; 0.5.23, unified_tree_core.py). Trade-off: the heap of leaves keeps stale entries.
#pragma once

#include <vector>

#include "base/hash.hpp"
#include "base/number_map.hpp"
#include "serving/asked/requests.hpp"

namespace yantra::serving {

using RadixId = Id<struct RadixTag>;   // a node

class RadixTree {
public:
    RadixTree(const Requests& requests, u32 page);

    struct Path {
        RadixId end;      // its last node
        u32 tokens = 0;
    };
    // It is used now.
    Path look_up(RequestId request, u32 tokens);
    // Its length; nothing is used.
    u32 knows(RequestId request, u32 tokens);
    // Of them, as many were before.
    struct Inserted {
        Path path;
        u32 known = 0;
    };
    Inserted insert(RequestId request, u32 tokens);

    // Up to the root.
    void pin(RadixId node);
    void unpin(RadixId node);
    u64 give_up(u64 tokens);

    // Places of `ends`: depth first, behind their own children, of which those with the most of
    // `ends` below them come first, then those that are there longest.
    std::vector<u32> by_weight(const std::vector<RadixId>& ends) const;

    u64 unpinned() const { return unpinned_; }   // tokens
    u64 given_up() const { return given_up_; }

private:
    struct Node {
        RequestId of;     // whose content it is
        u32 begin = 0;
        u32 end = 0;      // equal to `begin`: nowhere in the tree
        u32 pins = 0;
        u32 children = 0;
        RadixId parent;
        u64 used = 0;     // on a clock of its own
        u64 place = 0;    // among its siblings
    };
    struct Leaf {
        u64 used;
        RadixId node;
        bool operator>(const Leaf& other) const { return used > other.used; }
    };

    static constexpr RadixId root{0};

    u64 key_of(RadixId parent, RequestId request, u32 begin) const {
        return mix(requests_.chained(0, request, begin, begin + page_), parent.index());
    }
    RadixId child(RadixId parent, RequestId request, u32 begin);
    RadixId add(RadixId parent, RequestId request, u32 begin, u32 end);
    RadixId split(RadixId node, u32 at);
    void remove(RadixId node);
    u32 shared_until(const Node& node, RequestId request, u32 most) const;
    void use(RadixId node, u64 now);
    bool is_free_leaf(const Node& node) const {
        return node.pins == 0 && node.children == 0 && node.end > node.begin;
    }
    void note_leaf(RadixId node);

    const Requests& requests_;
    u32 page_;
    IdVector<RadixId, Node> nodes_;
    std::vector<RadixId> unused_;
    NumberMap<RadixId> children_;
    std::vector<Leaf> leaves_;   // a heap, the least recently used first
    u64 now_ = 0;
    u64 places_ = 0;
    u64 unpinned_ = 0;
    u64 given_up_ = 0;
};

class RadixKv {
public:
    RadixKv(const Requests& requests, u32 pages, u32 page, bool is_cached)
        : requests_(requests), page_(page), total_(pages), free_(pages), is_cached_(is_cached),
          tree_(requests, page), held_(requests.size()) {}

    u32 page() const { return page_; }
    bool is_cached() const { return is_cached_; }
    u64 total() const { return u64{total_} * page_; }   // tokens, as all that follow
    u64 free() const { return u64{free_} * page_; }
    u64 free_or_unpinned() const { return free() + tree_.unpinned(); }
    u32 up(u32 tokens) const { return (tokens + page() - 1) / page() * page(); }
    u64 evicted() const { return tree_.given_up(); }
    u32 tokens(RequestId request) const { return held_[request].tokens; }

    RadixTree::Path look_up(RequestId request, u32 tokens) {
        return is_cached_ ? tree_.look_up(request, tokens) : RadixTree::Path{};
    }
    u32 knows(RequestId request, u32 tokens) { return is_cached_ ? tree_.knows(request, tokens) : 0; }
    std::vector<u32> by_weight(const std::vector<RadixId>& ends) const { return tree_.by_weight(ends); }
    void begin(RequestId request, const RadixTree::Path& found);
    // False if there are fewer.
    bool make_free(u64 tokens);
    // Precondition: they are free.
    void grow(RequestId request, u32 tokens);
    void publish(RequestId request, u32 tokens);
    void give_back(RequestId request);

private:
    struct Held {
        u32 tokens = 0;
        u32 shared = 0;   // of them in the tree
        RadixId end;      // of its path there
    };

    u32 pages_of(u32 tokens) const { return (tokens + page_ - 1) / page_; }

    const Requests& requests_;
    u32 page_;
    u32 total_;
    u32 free_;
    bool is_cached_;
    RadixTree tree_;
    IdVector<RequestId, Held> held_;
};

}  // namespace yantra::serving
