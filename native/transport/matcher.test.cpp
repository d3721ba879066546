// Matcher pairs the k-th send with the k-th receive of a key, whatever else waits.
//
// The oracle is a map from keys to what waits for them. Few keys make long queues, many keys make the
// table grow and its probes wrap around.
#include "transport/matcher.hpp"

#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

using Key = std::tuple<u64, u32, u32, u32>;
struct Waiting {
    Matcher::Side side = Matcher::Side::send;
    std::deque<u32> messages;
};

Key as_tuple(const MatchKey& key) { return {key.bytes, key.tag, key.src, key.dst}; }

void compare(const Matcher& matcher, const std::map<Key, Waiting>& oracle, u64 step) {
    std::size_t seen = 0;
    matcher.for_each([&](const MatchKey& key, Matcher::Side side, u32 first) {
        const auto found = oracle.find(as_tuple(key));
        check(found != oracle.end(), "a key waits that should not", step);
        check(found->second.side == side, "the wrong side waits", step);
        check(found->second.messages.front() == first, "another message waits longest", step);
        ++seen;
    });
    check(seen == oracle.size(), "a key that should wait does not", step);
}

void run(u32 seed, u64 keys) {
    test::Random random(seed);
    Matcher matcher;
    std::vector<u32> next;
    std::map<Key, Waiting> oracle;
    for (u32 message = 0; message < 6000; ++message) {
        next.push_back(none);
        const u64 which = random.below(keys);
        const MatchKey key{which % 3 == 0 ? u64{1} << 40 : 8, static_cast<u32>(which % 7),
                           static_cast<u32>(which), static_cast<u32>(which / 5)};
        const auto side = random.one_in(2) ? Matcher::Side::send : Matcher::Side::receive;
        const u32 partner =
            matcher.match(key, side, message, [&](u32 m) -> u32& { return next[m]; });
        const auto found = oracle.find(as_tuple(key));
        if (found == oracle.end() || found->second.side == side) {
            check(partner == none, "a partner where none waits", message);
            Waiting& waiting = oracle[as_tuple(key)];
            waiting.side = side;
            waiting.messages.push_back(message);
        } else {
            check(partner == found->second.messages.front(), "the wrong partner", message);
            found->second.messages.pop_front();
            if (found->second.messages.empty()) {
                oracle.erase(found);
            }
        }
        if (message % 100 == 0) {
            compare(matcher, oracle, message);
        }
    }
    compare(matcher, oracle, 6000);
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 20; ++seed) {
        run(seed, 3);
        run(seed, 40);
        run(seed, 5000);
    }
    return 0;
}
