// Assembly: drafts of lanes and device ops, joined by what each waits for, and their order.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/replay/handover.hpp"
#include "trace/replay/lanes.hpp"

namespace yantra::replay {

class Assembly {
public:
    Assembly(const Recorded& of, bool handover);

    std::uint32_t anchor();
    std::vector<std::uint32_t> order();

    const Recorded& of;
    Lanes lanes;
    Drafts& drafts;
    std::uint32_t handovers = 0;

private:
    void connect(const Handover& handover);
    void add_device_ops(const Handover& handover);
    void depend(std::uint32_t at, std::uint32_t on);
    void follow(std::uint32_t source, std::uint32_t target, const Handover& handover);
    void add_timeless();
    void set_ctrl();
    std::uint32_t operator_around(const Draft& draft) const;
    std::vector<std::uint32_t> by_time() const;
    bool is_after_all(const std::vector<std::uint32_t>& order) const;
    std::vector<std::uint32_t> sorted(const std::vector<std::uint32_t>& by_time);

    std::vector<std::uint32_t> device_;  // drafts of device ops
};

}  // namespace yantra::replay
