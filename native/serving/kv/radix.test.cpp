// Pages are free, held, or in the tree, whatever comes and goes.
#include "serving/kv/radix.hpp"

#include <map>
#include <set>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using namespace yantra::serving;

Requests made(test::Random& random, u32 count) {
    Requests all;
    all.span_begin.push_back(0);
    for (u32 at = 0; at < count; ++at) {
        u32 end = 0;
        for (u64 span = random.below(4); span > 0; --span) {
            end += 1 + static_cast<u32>(random.below(20));
            all.spans.push_back({random.below(3), end});
        }
        all.span_begin.push_back(static_cast<u32>(all.spans.size()));
        all.adapter.add(0);
        all.prompt.add(1 + end + static_cast<u32>(random.below(30)));
    }
    return all;
}

// Of whole pages, token by token.
std::vector<u64> content(const Requests& all, RequestId request, u32 tokens) {
    std::vector<u64> found;
    const auto spans = all.content(request);
    for (u32 at = 0; at < tokens; ++at) {
        u64 source = all.own(request);
        for (std::size_t span = spans.size(); span-- > 0;) {
            source = at < spans[span].end ? spans[span].source : source;
        }
        found.push_back(source);
    }
    return found;
}

struct Holder {
    u32 tokens;
    u32 shared;
};

u64 held_pages(const Requests& all, const std::map<u32, Holder>& holders, u32 page) {
    std::set<std::vector<u64>> in_tree;
    u64 own = 0;
    for (const auto& [at, of] : holders) {
        for (u32 until = page; until <= of.shared; until += page) {
            in_tree.insert(content(all, RequestId(at), until));
        }
        own += (of.tokens + page - 1) / page - of.shared / page;
    }
    return own + in_tree.size();
}

void holds(u32 page, u32 seed) {
    test::Random random(seed);
    const Requests all = made(random, 40);
    RadixKv kv(all, 800 / page, page, true);
    std::map<u32, Holder> holders;
    for (u64 step = 0; step < 1'000; ++step) {
        const auto at = static_cast<u32>(random.below(all.size()));
        const RequestId request(at);
        const u32 prompt = all.prompt[request];
        if (const auto holder = holders.find(at); holder == holders.end()) {
            const u32 known = kv.knows(request, prompt - 1);
            const RadixTree::Path found = kv.look_up(request, prompt - 1);
            test::check(found.tokens == known, "a look-up finds what is known", step);
            kv.begin(request, found);
            if (!kv.make_free(prompt - found.tokens + page)) {
                kv.give_back(request);
                continue;
            }
            kv.grow(request, prompt - found.tokens);
            holders[at] = {prompt, found.tokens};
        } else if (holder->second.shared < prompt / page * page && random.one_in(2)) {
            kv.publish(request, prompt);
            holder->second.shared = prompt / page * page;
        } else {
            kv.give_back(request);
            holders.erase(at);
        }
        for (const auto& [other, of] : holders) {
            test::check(kv.knows(RequestId(other), of.shared) == of.shared, "what is held stays known", step);
        }
        test::check(kv.total() - kv.free_or_unpinned() == held_pages(all, holders, page) * page,
                    "other pages are held", step);
    }
    for (const auto& [at, of] : holders) {
        kv.give_back(RequestId(at));
    }
    test::check(kv.make_free(kv.total()), "all can be given up", seed);
    test::check(kv.knows(RequestId(0), all.prompt[RequestId(0)]) == 0, "nothing is left", seed);
}

}  // namespace

int main() {
    for (const u32 page : {1U, 4U, 16U}) {
        for (u32 seed = 0; seed < 3; ++seed) {
            holds(page, seed);
        }
    }
}
