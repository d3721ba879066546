// Matcher pairs the k-th send with the k-th receive of a key.
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
struct Queue {
    Matcher::Side side = Matcher::Side::send;
    std::deque<u32> messages;
};

Key as_tuple(const MatchKey& key) { return {key.bytes, key.tag, key.src, key.dst}; }

void compare(const Matcher& matcher, const std::vector<Matcher::Waiting>& messages,
             const std::map<Key, Queue>& oracle, u64 step) {
    std::size_t seen = 0;
    const auto at = [&](u32 m) -> const Matcher::Waiting& { return messages[m]; };
    matcher.for_each(at, [&](u32 first) {
        const auto found = oracle.find(as_tuple(messages[first].key()));
        check(found != oracle.end(), "a key waits that should not", step);
        check(found->second.side == messages[first].side, "the wrong side waits", step);
        check(found->second.messages.front() == first, "another message waits longest", step);
        ++seen;
    });
    check(seen == oracle.size(), "a key that should wait does not", step);
    std::map<Key, std::deque<u32>> all;
    matcher.for_each_message(at, [&](u32 m) { all[as_tuple(messages[m].key())].push_back(m); });
    check(all.size() == oracle.size(), "other keys have messages", step);
    for (const auto& [key, queue] : oracle) {
        check(all[key] == queue.messages, "the messages of a key are others", step);
    }
}

void run(u32 seed, u64 keys) {
    test::Random random(seed);
    Matcher matcher;
    std::vector<Matcher::Waiting> messages;
    const auto at = [&messages](u32 m) -> Matcher::Waiting& { return messages[m]; };
    std::map<Key, Queue> oracle;
    for (u32 message = 0; message < 6000; ++message) {
        messages.emplace_back();
        const u64 which = random.below(keys);
        const MatchKey key{which % 3 == 0 ? u64{1} << 40 : 8, static_cast<u32>(which % 7),
                           static_cast<u32>(which), static_cast<u32>(which / 5)};
        const auto side = random.one_in(2) ? Matcher::Side::send : Matcher::Side::receive;
        const Matcher::Place place = matcher.find(key, at);
        const u32 partner = matcher.take(place, side, at);
        if (partner == none) {
            matcher.wait(place, key, side, message, at);
        }
        const auto found = oracle.find(as_tuple(key));
        if (found == oracle.end() || found->second.side == side) {
            check(partner == none, "a partner where none waits", message);
            Queue& waiting = oracle[as_tuple(key)];
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
            compare(matcher, messages, oracle, message);
        }
    }
    compare(matcher, messages, oracle, 6000);
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 20; ++seed) {
        run(seed, 3);
        run(seed, 40);
        run(seed, 5000);
    }
}
