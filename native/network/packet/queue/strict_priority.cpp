// Strict priority: a packet leaves only if none of a smaller class waits; in a class, first in,
// first out.
//
// Classes are those of messages (`short_message`): short ones pass long ones. Trade-off: the last
// class may wait for ever.
#include <algorithm>
#include <array>

#include "base/vector.hpp"
#include "network/packet/queue_discipline.hpp"

namespace yantra::packet {

namespace {

class StrictPriority final : public QueueDiscipline {
public:
    using QueueDiscipline::QueueDiscipline;

    void push(PacketId packet) override { queues_[packets_[packet].priority].push(packets_, packet); }
    PacketId pop() override {
        for (PacketQueue& queue : queues_) {
            if (!queue.empty()) {
                return queue.pop(packets_);
            }
        }
        return PacketId::none;
    }
    void list(Vector<PacketId>& into) const override {
        for (const PacketQueue& queue : queues_) {
            add_all(queue, into);
        }
    }

private:
    std::array<PacketQueue, most_priorities> queues_;
};

const RegisteredDiscipline registered_strict_priority({
    "strict_priority",
    "packets of short messages first",
    [](PacketPool& packets, const Settings&) -> std::unique_ptr<QueueDiscipline> {
        return std::make_unique<StrictPriority>(packets);
    },
});

}  // namespace

}  // namespace yantra::packet
