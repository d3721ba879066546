// The order of use is SGLang 0.5.23's.
#include "serving/kv/radix.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "base/ensure.hpp"

namespace yantra::serving {

namespace {

u32 equal_until(const Requests& requests, RequestId a, RequestId b, u32 begin, u32 end) {
    if (a == b) {
        return end;
    }
    const auto all_a = requests.content(a);
    const auto all_b = requests.content(b);
    const auto is_before = [](u32 at, const ContentSpan& of) { return at < of.end; };
    auto of_a = std::upper_bound(all_a.begin(), all_a.end(), begin, is_before);
    auto of_b = std::upper_bound(all_b.begin(), all_b.end(), begin, is_before);
    for (u32 at = begin; at < end;) {
        const bool a_is_own = of_a == all_a.end();
        const bool b_is_own = of_b == all_b.end();
        if ((a_is_own ? requests.own(a) : of_a->source) != (b_is_own ? requests.own(b) : of_b->source)) {
            return at;
        }
        const u32 until_a = a_is_own ? end : of_a->end;
        const u32 until_b = b_is_own ? end : of_b->end;
        at = std::min({until_a, until_b, end});
        of_a += !a_is_own && until_a == at ? 1 : 0;
        of_b += !b_is_own && until_b == at ? 1 : 0;
    }
    return end;
}

}  // namespace

RadixTree::RadixTree(const Requests& requests, u32 page) : requests_(requests), page_(page) { nodes_.add({}); }

RadixTree::Path RadixTree::look_up(RequestId request, u32 tokens) {
    const u32 whole = tokens / page_ * page_;
    Path path{root, 0};
    while (path.tokens < whole) {
        const RadixId next = child(path.end, request, path.tokens);
        if (next.is_none()) {
            break;
        }
        const u32 until = shared_until(nodes_[next], request, whole);
        path = {until < nodes_[next].end ? split(next, until) : next, until};
    }
    ++now_;
    for (RadixId at = path.end; at != root; at = nodes_[at].parent) {
        use(at, now_);
    }
    return path;
}

u32 RadixTree::knows(RequestId request, u32 tokens) {
    const u32 whole = tokens / page_ * page_;
    u32 known = 0;
    for (RadixId at = root; known < whole;) {
        at = child(at, request, known);
        if (at.is_none()) {
            break;
        }
        known = shared_until(nodes_[at], request, whole);
        if (known < nodes_[at].end) {
            break;
        }
    }
    return known;
}

RadixTree::Inserted RadixTree::insert(RequestId request, u32 tokens) {
    const u32 whole = tokens / page_ * page_;
    Path path{root, 0};
    while (path.tokens < whole) {
        const RadixId next = child(path.end, request, path.tokens);
        if (next.is_none()) {
            const u32 known = path.tokens;
            return {{add(path.end, request, known, whole), whole}, known};
        }
        use(next, ++now_);
        const u32 until = shared_until(nodes_[next], request, whole);
        path = {until < nodes_[next].end ? split(next, until) : next, until};
    }
    return {path, whole};
}

void RadixTree::pin(RadixId node) {
    for (RadixId at = node; at != root; at = nodes_[at].parent) {
        Node& of = nodes_[at];
        if (of.pins++ == 0) {
            unpinned_ -= of.end - of.begin;
        }
    }
}

void RadixTree::unpin(RadixId node) {
    for (RadixId at = node; at != root; at = nodes_[at].parent) {
        Node& of = nodes_[at];
        if (--of.pins == 0) {
            unpinned_ += of.end - of.begin;
            note_leaf(at);
        }
    }
}

u64 RadixTree::give_up(u64 tokens) {
    u64 gone = 0;
    while (gone < tokens && !leaves_.empty()) {
        std::pop_heap(leaves_.begin(), leaves_.end(), std::greater<>());
        const Leaf leaf = leaves_.back();
        leaves_.pop_back();
        if (const Node& of = nodes_[leaf.node]; of.used == leaf.used && is_free_leaf(of)) {
            gone += of.end - of.begin;
            remove(leaf.node);
        }
    }
    given_up_ += gone;
    return gone;
}

std::vector<u32> RadixTree::by_weight(const std::vector<RadixId>& ends) const {
    struct Weighed {
        u64 weight = 0;
        std::vector<RadixId> children;
        std::vector<u32> own;
    };
    std::unordered_map<u32, Weighed> found;
    for (u32 place = 0; place < ends.size(); ++place) {
        found[ends[place].index()].own.push_back(place);
        bool is_new = found[ends[place].index()].weight++ == 0;
        for (RadixId at = ends[place]; at != root;) {
            const RadixId parent = nodes_[at].parent;
            Weighed& above = found[parent.index()];
            if (is_new) {
                above.children.push_back(at);
            }
            is_new = above.weight++ == 0;
            at = parent;
        }
    }
    const auto goes_before = [&](RadixId a, RadixId b) {
        const u64 of_a = found[a.index()].weight;
        const u64 of_b = found[b.index()].weight;
        return of_a != of_b ? of_a > of_b : nodes_[a].place < nodes_[b].place;
    };
    std::vector<u32> order;
    std::vector<std::pair<RadixId, bool>> stack{{root, false}};
    while (!stack.empty()) {
        const auto [node, is_over] = stack.back();
        stack.pop_back();
        Weighed& of = found[node.index()];
        if (is_over) {
            order.insert(order.end(), of.own.begin(), of.own.end());
            continue;
        }
        stack.push_back({node, true});
        std::sort(of.children.begin(), of.children.end(), goes_before);
        for (auto child = of.children.rbegin(); child != of.children.rend(); ++child) {
            stack.push_back({*child, false});
        }
    }
    return order;
}

RadixId RadixTree::child(RadixId parent, RequestId request, u32 begin) {
    const RadixId* found = children_.find(key_of(parent, request, begin));
    return found == nullptr ? RadixId::none : *found;
}

RadixId RadixTree::add(RadixId parent, RequestId request, u32 begin, u32 end) {
    RadixId made = nodes_.next();
    if (unused_.empty()) {
        nodes_.add({});
    } else {
        made = unused_.back();
        unused_.pop_back();
    }
    nodes_[made] = {request, begin, end, 0, 0, parent, ++now_, ++places_};
    requests_.is_used(request, 1);
    children_.add(key_of(parent, request, begin), made);
    ++nodes_[parent].children;
    unpinned_ += end - begin;
    note_leaf(made);
    return made;
}

// The tail stays the old one, which requests pin.
RadixId RadixTree::split(RadixId node, u32 at) {
    const Node before = nodes_[node];
    RadixId* const place = children_.find(key_of(before.parent, before.of, before.begin));
    RadixId head = nodes_.next();
    if (unused_.empty()) {
        nodes_.add({});
    } else {
        head = unused_.back();
        unused_.pop_back();
    }
    *place = head;
    nodes_[head] = {before.of, before.begin, at, before.pins, 1, before.parent, ++now_, before.place};
    requests_.is_used(before.of, 1);
    nodes_[node].begin = at;
    nodes_[node].parent = head;
    children_.add(key_of(head, before.of, at), node);
    use(node, ++now_);
    return head;
}

void RadixTree::remove(RadixId node) {
    const Node of = nodes_[node];
    children_.erase(key_of(of.parent, of.of, of.begin));
    unpinned_ -= of.end - of.begin;
    requests_.is_used(of.of, -1);
    nodes_[node] = {};
    unused_.push_back(node);
    --nodes_[of.parent].children;
    note_leaf(of.parent);
}

u32 RadixTree::shared_until(const Node& node, RequestId request, u32 most) const {
    const u32 until = equal_until(requests_, node.of, request, node.begin, std::min(node.end, most));
    ensure(until >= node.begin + page_, "two pages of one hash");
    return until / page_ * page_;
}

void RadixTree::use(RadixId node, u64 now) {
    nodes_[node].used = now;
    note_leaf(node);
}

void RadixTree::note_leaf(RadixId node) {
    if (!is_free_leaf(nodes_[node])) {
        return;
    }
    if (leaves_.size() > 4 * nodes_.size() + 64) {
        std::size_t kept = 0;
        for (const Leaf& leaf : leaves_) {
            if (nodes_[leaf.node].used == leaf.used && is_free_leaf(nodes_[leaf.node])) {
                leaves_[kept++] = leaf;
            }
        }
        leaves_.resize(kept);
        std::make_heap(leaves_.begin(), leaves_.end(), std::greater<>());
    }
    leaves_.push_back({nodes_[node].used, node});
    std::push_heap(leaves_.begin(), leaves_.end(), std::greater<>());
}

void RadixKv::begin(RequestId request, const RadixTree::Path& found) {
    held_[request] = {found.tokens, found.tokens, found.end};
    if (!found.end.is_none()) {
        tree_.pin(found.end);
    }
}

bool RadixKv::make_free(u64 tokens) {
    if (free() < tokens && is_cached_) {
        free_ += static_cast<u32>(tree_.give_up(tokens - free()) / page_);
    }
    return free() >= tokens;
}

void RadixKv::grow(RequestId request, u32 tokens) {
    Held& of = held_[request];
    const u32 pages = pages_of(of.tokens + tokens) - pages_of(of.tokens);
    ensure(pages <= free_, "pages that were not counted");
    free_ -= pages;
    of.tokens += tokens;
}

void RadixKv::publish(RequestId request, u32 tokens) {
    const u32 whole = tokens / page_ * page_;
    if (!is_cached_ || whole == 0) {
        return;
    }
    Held& of = held_[request];
    const RadixTree::Inserted made = tree_.insert(request, whole);
    free_ += (made.known - std::min(of.shared, made.known)) / page_;   // others had them already
    const u32 prompt = requests_.prompt[request] / page_ * page_;
    if (prompt > 0 && prompt < whole) {
        tree_.insert(request, prompt);
    }
    if (!of.end.is_none()) {
        tree_.unpin(of.end);
    }
    tree_.pin(made.path.end);
    of.shared = whole;
    of.end = made.path.end;
}

void RadixKv::give_back(RequestId request) {
    Held& of = held_[request];
    free_ += pages_of(of.tokens) - of.shared / page_;
    if (!of.end.is_none()) {
        tree_.unpin(of.end);
    }
    of = {};
}

}  // namespace yantra::serving
