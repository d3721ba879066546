// Layout: where a model's communicators are on its ranks. Each function is a pass over ranks or
// members.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/vector.hpp"
#include "model/model.hpp"

namespace yantra {

struct Span {
    u32 lowest = none;           // of those dimensions
    // By dimension, if members at 0 are exactly a product of coordinates.
    Vector<Vector<u32>> coordinates;
    // The dimensions as bits, if members have no partial one.
    std::optional<u64> whole;
};

// Precondition: the model has its dimensions.
Span span_of(const Model& model, const Shape& shape);

// Communicators from `first_index`, one for each point of a product of axes: `count` steps of
// `base_stride` ranks and `index_stride` communicators.
struct Family {
    struct Axis {
        u32 count = 1;
        u32 base_stride = 0;
        u32 index_stride = 0;
    };
    u32 first_index = 0;
    u64 first_chunk = 0;
    u64 chunks_each = 0;
    u32 base = 0;
    Vector<Axis> axes;
    u32 layout = 0;
    u32 aligned_layout = 0;      // if all members are within a dimension, by `farthest`
    Vector<u32> farthest;        // coordinate of a member from that of the lowest, by dimension
    // Other layouts by the place of the lowest rank among `inner` ranks; unlisted places have
    // `layout`.
    u32 inner = 1;
    Vector<std::pair<u32, u32>> split;
};

void add_communicators(Model& model, const Family& family);

// Greedy colouring: communicators that share a rank get different numbers, the lowest free in turn;
// returns the count. Communicator 0 (all ranks) has number 0.
u32 number_queue_sets(Model& model);

// What in a template decides which of its ranks share a job.
struct TemplateUse {
    std::shared_ptr<const RankRules> rules;
    // Place of the communicator, and the comm_types used there as bits.
    Vector<std::pair<u32, u32>> collectives;
};

struct Assignment {
    struct Role {
        u32 in_template = none;
        u32 rank = none;                      // its first
        std::shared_ptr<const RankRules> rules;
        Vector<u8> collective;           // slots, by place of the communicator
        Vector<u8> send;
    };
    Vector<Role> roles;
    Vector<u32> role_of;                 // by rank
    Vector<u32> comm_types;              // by layout: those in use, as bits
    u32 faulty = none;                        // a rank for which a name is undefined
};

// Ranks of one template with equal slots for communicators have one role.
Assignment assign(const Model& model, const Vector<TemplateUse>& templates,
                  const Vector<u32>& template_of);

}  // namespace yantra
