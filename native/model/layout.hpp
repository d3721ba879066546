// Layout: how the communicators of a model lie on its ranks, found while the model is built.
//
// Everything here is a pass over ranks or members with a few bytes for each, and leaves behind what
// differs between them only.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/vector.hpp"
#include "model/model.hpp"

namespace yantra {

// Which dimensions of the network the members of a layout differ in.
struct Span {
    u32 lowest = none;           // of those dimensions
    // Where the members that lie at 0 are exactly a product of coordinates: these, by dimension.
    Vector<Vector<u32>> coordinates;
    // Which dimensions they have whole, as bits, where they have no part of another.
    std::optional<u64> whole;
};

// Precondition: the model has its dimensions.
Span span_of(const Model& model, const Shape& shape);

// Communicators `first_index` and on, one for each point of a product of axes: `count` steps of
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
    u32 aligned_layout = 0;      // of those whose members are all within a dimension, by `farthest`
    Vector<u32> farthest;        // coordinate of a member from that of the lowest, by dimension
    // Layouts of others by where their lowest rank is among `inner` ranks; those not listed have `layout`.
    u32 inner = 1;
    Vector<std::pair<u32, u32>> split;
};

void add_communicators(Model& model, const Family& family);

// Gives communicators the numbers of queue sets so that those that share a rank differ, the lowest free
// one to each in turn (greedy colouring); returns how many there are. Communicator 0 has number 0, and
// all ranks.
u32 number_queue_sets(Model& model);

// A template, as far as it matters which of its ranks can share a job.
struct TemplateUse {
    std::shared_ptr<const RankRules> rules;
    // Place of the communicator, and the comm_types in use there as bits.
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
    u32 faulty = none;                        // a rank for which a name means nothing
};

// Ranks of one template whose communicators occupy the same slots have one role.
Assignment assign(const Model& model, const Vector<TemplateUse>& templates,
                  const Vector<u32>& template_of);

}  // namespace yantra
