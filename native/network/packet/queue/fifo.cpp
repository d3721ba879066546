// First in, first out, without a call.
#include <vector>

#include "network/packet/queue_discipline.hpp"

namespace yantra::packet {

namespace {

class Fifo final : public QueueDiscipline {
public:
    using QueueDiscipline::QueueDiscipline;

    void push(PacketId packet) override { queue_.push(packets_, packet); }
    PacketId pop() override { return queue_.empty() ? PacketId::none : queue_.pop(packets_); }
    void list(std::vector<PacketId>& into) const override { add_all(queue_, into); }

private:
    PacketQueue queue_;
};

const RegisteredDiscipline registered_fifo({
    "fifo",
    "packets leave in the order in which they came",
    [](PacketPool& packets, const Settings&) -> std::unique_ptr<QueueDiscipline> {
        return std::make_unique<Fifo>(packets);
    },
});

}  // namespace

}  // namespace yantra::packet
