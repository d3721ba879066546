// FoldedLinks: store-and-forward of a folded run, one link for each class (found by
// fold/link_classes.hpp).
//
// Valid while all links of a class serve in one order. Two messages of one tick are ordered if
// their rank sends them in order (send_order.hpp) or their last hops began in different ticks.
// Others clash, as rank numbers would decide. A message that comes as the link becomes free does
// not: it leaves in this tick either way.
#pragma once

#include <functional>

#include "base/vector.hpp"
#include "network/store_and_forward.hpp"

namespace yantra {

inline namespace YANTRA_RUN {

class FoldedLinks final : public StoreAndForwardNetwork {
public:
    using Clash = std::function<void(const Links& links, u32 link)>;
    // Whether all ranks of a class send the messages of two causes in this order.
    using InOneOrder = std::function<bool(u64 first, u64 second)>;

    static constexpr u64 unknown = ~u64{0};

    FoldedLinks(const Grid& grid, TimeScale scale, Engine& engine, const LinkClasses& classes);

    void report_to(InOneOrder in_one_order, Clash clash);
    void caused_by(u64 cause) { cause_ = cause; }

    void send(const Message& message, Notice arrived, Notice departed) override;
    NetworkCapabilities capabilities() override { return {}; }   // classes of links are numbered
                                                                 // differently
    // On demand only: see records().
    Vector<LinkRecord> links() const override { return {}; }
    Vector<LinkUse> dimensions() const override;

    // By class of links.
    Vector<LinkUse> uses() const;
    static Vector<LinkRecord> records(const Links& links, const LinkClasses& classes,
                                           const Vector<LinkUse>& uses);

private:
    struct Offered {
        u64 tick = ~u64{0};
        u64 cause = unknown;   // or, if it passes, when its last hop began
        bool passes = false;
    };

    void take_on(u32 transit) override { take_on(transit, true); }
    void take_on(u32 transit, bool passes);
    bool in_one_order(const Offered& first, const Offered& second) const;

    const LinkClasses& classes_;
    InOneOrder sent_in_one_order_;
    Clash clash_;
    u64 cause_ = unknown;
    Vector<Offered> offered_;   // by class
    Vector<u32> crossed_;       // by transit: its last link's class
};

}  // namespace YANTRA_RUN

}  // namespace yantra
