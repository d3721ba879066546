// The k-th send of a key meets the k-th receive; no byte is lost; under rendezvous nothing sets out
// before its receive is there.
// needs: the parts of a run
#include "transport/transport.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "base/test.hpp"
#include "network/analytical.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr u32 ranks = 4;
constexpr u32 sent = 0;
constexpr u32 received = 1;

struct Half {
    u64 posted = ~u64{0};
    u64 completed = ~u64{0};
};
struct Seen {
    MatchKey key{};
    Half send;
    Half receive;
};

class AnsweringNetwork final : public NetworkModel {
public:
    static constexpr u64 latency = 50'000;

    explicit AnsweringNetwork(Engine& engine) : queue_(engine.queue) {}
    void send(const Message& message, Notice arrived, Notice departed) override {
        const u64 arrives = queue_.now() + message.bytes * 500 + latency;
        queue_.schedule(arrives, arrived);
        if (!departed.kind.is_none()) {
            queue_.schedule(arrives + latency, departed);
        }
    }
    std::vector<LinkRecord> links() const override { return {}; }
    std::vector<LinkUse> dimensions() const override { return {}; }

private:
    EventQueue& queue_;
};

class World final : private Completions {
public:
    explicit World(const TransportParameters& parameters, bool answers = false)
        : grid_({{Block::fully_connected, ranks, 2.0, 10.0, 1.0}}),
          actors_(ranks, 1),
          engine_(ranks),
          network_(grid_, TimeScale::picoseconds(), engine_, false),
          answering_(engine_),
          transport_(engine_, actors_, answers ? static_cast<NetworkModel&>(answering_) : network_, *this,
                     parameters, nullptr) {}

    void post(const MatchKey& key, bool sends) {
        std::vector<u32>& of_key = numbers_[{key.bytes, key.tag, key.src, key.dst}];
        u32& count = counts_[{key.bytes, key.tag, key.src, key.dst, sends}];
        if (count == of_key.size()) {
            of_key.push_back(static_cast<u32>(seen.size()));
            seen.push_back({});
            seen.back().key = key;
        }
        const u32 number = of_key[count++];
        (sends ? seen[number].send : seen[number].receive).posted = engine_.now();
        const Completion then{{Owner::execution, sends ? sent : received}, number, 0};
        const Actors::Ends ends{key.src, key.dst};
        if (sends) {
            transport_.send(ends, RankId(key.src), RankId(key.dst), key.bytes, key.tag, then);
        } else {
            transport_.receive(ends, RankId(key.dst), RankId(key.src), key.bytes, key.tag, then);
        }
    }

    void run_until(u64 tick) {
        engine_.queue.schedule(tick, {Owner::arrivals, 0}, 0);
        while (!engine_.queue.empty()) {
            const Event event = engine_.queue.next();
            if (event.kind.owner() == Owner::arrivals) {
                return;
            }
            transport_.handle(event);
        }
    }
    u64 now() const { return engine_.now(); }
    u64 messages() const { return transport_.state().messages; }
    u64 bytes_carried() const { return network_.dimensions()[0].bytes; }
    u64 ticks(u64 bytes) const {
        std::vector<LinkUse> use;
        return network_.alone({RankId(0), RankId(1), bytes}, 1, use);
    }

    std::vector<Seen> seen;

private:
    void completed(const Completion& completion) override {
        Seen& one = seen[completion.a];
        Half& half = completion.kind.kind() == sent ? one.send : one.receive;
        check(half.completed == ~u64{0}, "a half completes twice", completion.a);
        half.completed = engine_.now();
    }

    Grid grid_;
    Actors actors_;
    Engine engine_;
    AnalyticalNetwork network_;
    AnsweringNetwork answering_;
    Transport transport_;
    std::map<std::vector<u64>, std::vector<u32>> numbers_;
    std::map<std::vector<u64>, u32> counts_;
};

MatchKey any_key(test::Random& random) {
    const u32 src = static_cast<u32>(random.below(ranks));
    const u32 dst = (src + 1 + static_cast<u32>(random.below(ranks - 1))) % ranks;
    const u32 tag = static_cast<u32>(random.below(2));
    return {100 * (1 + tag), tag, src, dst};
}

void post_all(World& world, test::Random& random) {
    std::vector<std::pair<MatchKey, bool>> halves;
    for (u64 i = 0; i < 150; ++i) {
        const MatchKey key = any_key(random);
        halves.insert(halves.begin() + static_cast<std::ptrdiff_t>(random.below(halves.size() + 1)),
                      {key, true});
        halves.insert(halves.begin() + static_cast<std::ptrdiff_t>(random.below(halves.size() + 1)),
                      {key, false});
    }
    for (const auto& [key, sends] : halves) {
        world.run_until(world.now() + random.below(20'000));
        world.post(key, sends);
    }
    world.run_until(world.now() + 10'000'000);
}

void without_a_protocol_a_message_sets_out_at_once(u32 seed) {
    test::Random random(seed);
    World world({});
    post_all(world, random);
    u64 bytes = 0;
    for (u64 at = 0; at < world.seen.size(); ++at) {
        const auto& [key, send, receive] = world.seen[at];
        bytes += key.bytes;
        const u64 arrives = send.posted + world.ticks(key.bytes);
        check(send.completed == send.posted + key.bytes * 500, "a send ends at another time", at);
        check(receive.completed == std::max(arrives, receive.posted), "a receive ends at another time", at);
    }
    check(world.seen.size() == 150 && world.messages() == 150, "another number of messages", seed);
    check(world.bytes_carried() == bytes, "bytes came or went", seed);
}

void a_send_ends_with_its_answer(u32 seed) {
    test::Random random(seed);
    World world({}, true);
    post_all(world, random);
    for (u64 at = 0; at < world.seen.size(); ++at) {
        const auto& [key, send, receive] = world.seen[at];
        const u64 arrives = send.posted + key.bytes * 500 + AnsweringNetwork::latency;
        check(send.completed == arrives + AnsweringNetwork::latency, "a send ends at another time", at);
        check(receive.completed == std::max(arrives, receive.posted), "a receive ends at another time", at);
    }
}

void a_rendezvous_ends_with_its_answers(u32 seed) {
    test::Random random(seed);
    World world({.rendezvous = true}, true);
    post_all(world, random);
    const u64 control = 8192 * 500 + AnsweringNetwork::latency;
    for (u64 at = 0; at < world.seen.size(); ++at) {
        const auto& [key, send, receive] = world.seen[at];
        const u64 sets_out = std::max(send.posted, receive.posted + control);
        const u64 arrives = sets_out + key.bytes * 500 + AnsweringNetwork::latency;
        check(send.completed == arrives + AnsweringNetwork::latency, "a send ends at another time", at);
        check(receive.completed == arrives, "a receive ends at another time", at);
    }
}

void a_send_may_end_when_its_message_arrives(u32 seed) {
    test::Random random(seed);
    World world({.send_completes_on_arrival = true});
    post_all(world, random);
    for (u64 at = 0; at < world.seen.size(); ++at) {
        const auto& [key, send, receive] = world.seen[at];
        check(send.completed == send.posted + world.ticks(key.bytes), "a send does not end then", at);
        check(receive.completed >= send.completed, "a receive ends before its message arrives", at);
    }
}

void a_rendezvous_waits_for_the_receive(u32 seed) {
    test::Random random(seed);
    World world({.rendezvous = true});
    post_all(world, random);
    const u64 control = world.ticks(8192);
    u64 bytes = 0;
    for (u64 at = 0; at < world.seen.size(); ++at) {
        const auto& [key, send, receive] = world.seen[at];
        bytes += key.bytes + 8192;
        const u64 sets_out = std::max(send.posted, receive.posted + control);
        check(send.completed == sets_out + key.bytes * 500, "a send ends at another time", at);
        check(receive.completed == sets_out + world.ticks(key.bytes), "a receive ends at another time", at);
    }
    check(world.messages() == 300 && world.bytes_carried() == bytes, "bytes came or went", seed);
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 10; ++seed) {
        without_a_protocol_a_message_sets_out_at_once(seed);
        a_send_may_end_when_its_message_arrives(seed);
        a_send_ends_with_its_answer(seed);
        a_rendezvous_ends_with_its_answers(seed);
        a_rendezvous_waits_for_the_receive(seed);
    }
}
