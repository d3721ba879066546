// Every discipline keeps the laws, and wrong ones are caught by name.
// needs: network/packet/queue_discipline.cpp, network/packet/queue
#include "network/packet/queue_laws.hpp"

#include <array>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using namespace yantra::packet;
using test::check;

template <bool forgets, bool reverses, bool hides, bool repeats>
class Wrong final : public QueueDiscipline {
public:
    using QueueDiscipline::QueueDiscipline;
    void push(PacketId packet) override {
        if (!forgets || ++pushed_ % 100 != 0) {
            waiting_.push_back(packet);
        }
    }
    PacketId pop() override {
        if (waiting_.empty() || (hides && ++popped_ % 50 == 0)) {
            return PacketId::none;
        }
        const auto at = reverses ? waiting_.end() - 1 : waiting_.begin();
        const PacketId packet = *at;
        if (!repeats || ++popped_ % 50 != 0) {
            waiting_.erase(at);
        }
        return packet;
    }
    void list(std::vector<PacketId>& into) const override { into.insert(into.end(), waiting_.begin(), waiting_.end()); }

private:
    std::vector<PacketId> waiting_;
    u64 pushed_ = 0;
    u64 popped_ = 0;
};

template <class Queue>
void is_caught(const std::string& law) {
    const Discipline wrong{"wrong", "", [](PacketPool& packets, const Settings&) -> std::unique_ptr<QueueDiscipline> {
                               return std::make_unique<Queue>(packets);
                           }};
    check(broken_law(wrong).rfind(law + ":", 0) == 0, law.c_str(), 0);
}

void drr_shares_by_bytes() {
    PacketPool packets;
    Settings settings;
    settings.options = {{"queues", 2.0}, {"quantum", 1500.0}};
    const auto queue = find_discipline("drr")->make(packets, settings);
    const std::array<u32, 2> sizes = {1500, 100};
    const auto push = [&](u32 message) {
        const PacketId made = packets.take();
        packets[made].serial = message;
        packets[made].bytes = sizes[message];
        queue->push(made);
    };
    push(0);
    push(1);
    push(1);
    std::array<u64, 2> left{};
    for (u64 step = 0; step < 10000; ++step) {
        const PacketId packet = queue->pop();
        const u32 message = packets[packet].serial;
        left[message] += packets[packet].bytes;
        push(message);
        packets.give_back(packet);
        const u64 more = left[0] > left[1] ? left[0] - left[1] : left[1] - left[0];
        check(more <= 2 * 1500, "what two have sent differs by less than a quantum and a packet", step);
    }
}

void strict_priority_puts_the_least_class_first() {
    PacketPool packets;
    const auto queue = find_discipline("strict_priority")->make(packets, Settings{});
    for (const u8 priority : {1, 0, 1, 0}) {
        const PacketId made = packets.take();
        packets[made].priority = priority & 7;
        queue->push(made);
    }
    for (const u32 expected : {1u, 3u, 0u, 2u, none}) {
        check(queue->pop().index() == expected, "the order of classes", expected);
    }
}

}  // namespace

int main() {
    check(disciplines().size() >= 3, "disciplines", 0);
    for (const Discipline& discipline : disciplines()) {
        const std::string wrong = broken_law(discipline);
        check(wrong.empty(), (discipline.name + " " + wrong).c_str(), 0);
    }
    is_caught<Wrong<true, false, false, false>>("list_has_what_waits");
    is_caught<Wrong<false, true, false, false>>("messages_keep_their_order");
    is_caught<Wrong<false, false, true, false>>("none_only_where_none_waits");
    is_caught<Wrong<false, false, false, true>>("list_has_what_waits");
    drr_shares_by_bytes();
    strict_priority_puts_the_least_class_first();
}
