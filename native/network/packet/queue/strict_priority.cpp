// Strict priority by the class of messages (`short_message`); in a class, first in, first out.
// Trade-off: the last class may wait for ever.
#include <algorithm>
#include <array>
#include <vector>

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
    void list(std::vector<PacketId>& into) const override {
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
