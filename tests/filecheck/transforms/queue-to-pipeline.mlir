// RUN: xdsl-opt %s --split-input-file -p tileas-queue-to-pipeline,verify-dominance | filecheck %s

// Five patterns at once: two agents, one queue of two tiles, region forms, a get that computes, storage that is reused.
// The producer is region 0 and the consumer region 1; discardable attributes come along.
func.func @regions(%v: tensor<8xf32>, %w: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>
  %r = nv_tileaa.create_queue attributes {note = "kept"} : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 3>
  nv_tileaa.mark_for_reuse %q, %r attributes {partitions = array<i32: 1, 1>} : (!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>, !nv_tileaa.queue<[tensor<8xf32>], depth = 3>) -> ()
  nv_tileaa.execute %v, %w attributes {num_agents_per_group = array<i32: 1, 1>, max_regs = array<i32: 40, 232>} {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
    nv_tileaa.queue.put %q attributes {pipeline_stage = 0 : i32} {
    ^bb0(%s0: tensor<8xf32>, %s1: tensor<8xf32>):
      nv_tileaa.queue.yield %x, %y : (tensor<8xf32>, tensor<8xf32>) -> ()
    } : (!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>) -> ()
  }, {
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
    %a = nv_tileaa.queue.get %q {
    ^bb0(%s0: tensor<8xf32>, %s1: tensor<8xf32>):
      %sum = arith.addf %s0, %s1 : tensor<8xf32>
      nv_tileaa.queue.yield %sum : (tensor<8xf32>) -> ()
    } : (!nv_tileaa.queue<[tensor<8xf32>, tensor<8xf32>], depth = 3>) -> tensor<8xf32>
    %b = arith.addf %a, %x : tensor<8xf32>
  } : (tensor<8xf32>, tensor<8xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @regions(%v: tensor<8xf32>, %w: tensor<8xf32>) {
// CHECK-NEXT:    %q_p, %q_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 3 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8}
// CHECK-NEXT:    %q_pi = nv_tileas.async.pipeline.create_iterator %q_p
// CHECK-NEXT:    %q_ci = nv_tileas.async.pipeline.create_iterator %q_c
// CHECK-NEXT:    %r_p, %r_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 3 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8, note = "kept"}
// CHECK-NEXT:    nv_tileaa.mark_for_reuse %q_p, %r_p attributes {partitions = array<i32: 1, 1>}
// CHECK-NEXT:    nv_tileas.async.pipeline.agent_switch %v, %w, %q_p, %q_pi, %q_c, %q_ci attributes {num_agents_per_group = array<i32: 1, 1>, max_regs = array<i32: 40, 232>} {
// CHECK-NEXT:      %produced = nv_tileas.async.pipeline.produce_one %q_p, %q_pi attributes {pipeline_stage = 0 : i32} {
// CHECK-NEXT:        %own = nv_tileas.async.pipeline.producer_acquire %q_p, %q_pi
// CHECK-NEXT:        %full = nv_tileas.async.pipeline.producer_write %own, %q_pi attributes {producer_types = [tensor<8xf32>, tensor<8xf32>]} {
// CHECK-NEXT:        ^bb0(%s0: tensor<8xf32>, %s1: tensor<8xf32>):
// CHECK-NEXT:          nv_tileas.async.pipeline.yield %v, %w
// CHECK-NEXT:        }
// CHECK-NEXT:        nv_tileas.async.pipeline.producer_commit %full
// CHECK-NEXT:        nv_tileas.async.pipeline.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      %q_pi_1 = nv_tileas.async.pipeline.inc_iter %q_pi
// CHECK-NEXT:    }, {
// CHECK-NEXT:      %a, %consumed = nv_tileas.async.pipeline.consume_one %q_c, %q_ci attributes {consumer_idx = 0 : i32} {
// CHECK-NEXT:        %got = nv_tileas.async.pipeline.consumer_wait %q_c, %q_ci attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:        %tile, %done = nv_tileas.async.pipeline.consumer_read %got, %q_ci attributes {consumer_idx = 0 : i32, consumer_types = [tensor<8xf32>, tensor<8xf32>]} {
// CHECK-NEXT:        ^bb0(%s0_1: tensor<8xf32>, %s1_1: tensor<8xf32>):
// CHECK-NEXT:          %sum = arith.addf %s0_1, %s1_1 : tensor<8xf32>
// CHECK-NEXT:          nv_tileas.async.pipeline.yield %sum
// CHECK-NEXT:        }
// CHECK-NEXT:        nv_tileas.async.pipeline.consumer_release %done
// CHECK-NEXT:        nv_tileas.async.pipeline.yield %tile
// CHECK-NEXT:      }
// CHECK-NEXT:      %q_ci_1 = nv_tileas.async.pipeline.inc_iter %q_ci
// CHECK-NEXT:      %b = arith.addf %a, %v : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// An iterator is carried by every loop and branch around a turn, through both arms, and advanced once behind the turn.
func.func @carried(%n: index, %c: i1, %x: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 1>} {
    nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
    scf.for %i = %c0 to %n step %c1 {
      scf.if %c {
        nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
      }
    } {tag = "kept"}
  }, {
    %v0 = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %v0) -> (tensor<8xf32>) {
      %new = scf.if %c -> (tensor<8xf32>) {
        %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
        %sum = arith.addf %acc, %v : tensor<8xf32>
        scf.yield %sum : tensor<8xf32>
      } else {
        scf.yield %acc : tensor<8xf32>
      }
      scf.yield %new : tensor<8xf32>
    }
  } : () -> ()
  func.return
}

// CHECK-LABEL: func.func @carried(%n: index, %c: i1, %x: tensor<8xf32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %q_p, %q_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8}
// CHECK-NEXT:    %q_pi = nv_tileas.async.pipeline.create_iterator %q_p
// CHECK-NEXT:    %q_ci = nv_tileas.async.pipeline.create_iterator %q_c
// CHECK-NEXT:    nv_tileas.async.pipeline.agent_switch %q_p, %q_pi, %q_c, %q_ci attributes {num_agents_per_group = array<i32: 1, 1>} {
// CHECK-NEXT:      %produced = nv_tileas.async.pipeline.produce_one %q_p, %q_pi {
// CHECK-NEXT:        %own = nv_tileas.async.pipeline.producer_acquire %q_p, %q_pi
// CHECK-NEXT:        %full = nv_tileas.async.pipeline.producer_write %own, %q_pi attributes {producer_types = [tensor<8xf32>]} {
// CHECK-NEXT:        ^bb0(%0: tensor<8xf32>):
// CHECK-NEXT:          nv_tileas.async.pipeline.yield %x
// CHECK-NEXT:        }
// CHECK-NEXT:        nv_tileas.async.pipeline.producer_commit %full
// CHECK-NEXT:        nv_tileas.async.pipeline.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      %q_pi_1 = nv_tileas.async.pipeline.inc_iter %q_pi
// CHECK-NEXT:      %q_pi_2 = scf.for %i = %c0 to %n step %c1 iter_args(%q_pi_3 = %q_pi_1)
// CHECK-NEXT:        %q_pi_4 = scf.if %c
// CHECK-NEXT:          %produced_1 = nv_tileas.async.pipeline.produce_one %q_p, %q_pi_3 {
// CHECK-NEXT:            %own_1 = nv_tileas.async.pipeline.producer_acquire %q_p, %q_pi_3
// CHECK-NEXT:            %full_1 = nv_tileas.async.pipeline.producer_write %own_1, %q_pi_3 attributes {producer_types = [tensor<8xf32>]} {
// CHECK-NEXT:            ^bb0(%1: tensor<8xf32>):
// CHECK-NEXT:              nv_tileas.async.pipeline.yield %x
// CHECK-NEXT:            }
// CHECK-NEXT:            nv_tileas.async.pipeline.producer_commit %full_1
// CHECK-NEXT:            nv_tileas.async.pipeline.yield
// CHECK-NEXT:          }
// CHECK-NEXT:          %q_pi_5 = nv_tileas.async.pipeline.inc_iter %q_pi_3
// CHECK-NEXT:          scf.yield %q_pi_5 : !nv_tileas.pipeline_iter<tensor<8xf32>>
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %q_pi_3 : !nv_tileas.pipeline_iter<tensor<8xf32>>
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.yield %q_pi_4 : !nv_tileas.pipeline_iter<tensor<8xf32>>
// CHECK-NEXT:      } {tag = "kept"}
// CHECK-NEXT:    }, {
// CHECK-NEXT:      %v0, %consumed = nv_tileas.async.pipeline.consume_one %q_c, %q_ci attributes {consumer_idx = 0 : i32} {
// CHECK-NEXT:        %got = nv_tileas.async.pipeline.consumer_wait %q_c, %q_ci attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:        %tile, %done = nv_tileas.async.pipeline.consumer_read %got, %q_ci attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:        nv_tileas.async.pipeline.consumer_release %done
// CHECK-NEXT:        nv_tileas.async.pipeline.yield %tile
// CHECK-NEXT:      }
// CHECK-NEXT:      %q_ci_1 = nv_tileas.async.pipeline.inc_iter %q_ci
// CHECK-NEXT:      %r, %q_ci_2 = scf.for %i_1 = %c0 to %n step %c1 iter_args(%acc = %v0, %q_ci_3 = %q_ci_1)
// CHECK-NEXT:        %new, %q_ci_4 = scf.if %c
// CHECK-NEXT:          %v, %consumed_1 = nv_tileas.async.pipeline.consume_one %q_c, %q_ci_3 attributes {consumer_idx = 0 : i32} {
// CHECK-NEXT:            %got_1 = nv_tileas.async.pipeline.consumer_wait %q_c, %q_ci_3 attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:            %tile_1, %done_1 = nv_tileas.async.pipeline.consumer_read %got_1, %q_ci_3 attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:            nv_tileas.async.pipeline.consumer_release %done_1
// CHECK-NEXT:            nv_tileas.async.pipeline.yield %tile_1
// CHECK-NEXT:          }
// CHECK-NEXT:          %q_ci_5 = nv_tileas.async.pipeline.inc_iter %q_ci_3
// CHECK-NEXT:          %sum = arith.addf %acc, %v : tensor<8xf32>
// CHECK-NEXT:          scf.yield %sum, %q_ci_5 : tensor<8xf32>, !nv_tileas.pipeline_iter<tensor<8xf32>>
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.yield %acc, %q_ci_3 : tensor<8xf32>, !nv_tileas.pipeline_iter<tensor<8xf32>>
// CHECK-NEXT:        }
// CHECK-NEXT:        scf.yield %new, %q_ci_4 : tensor<8xf32>, !nv_tileas.pipeline_iter<tensor<8xf32>>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// Outside of agents both groups are 0. A while loop carries the iterator through its condition and its body.
func.func @alone(%n: index, %x: tensor<8xf32>) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 1>
  %last = scf.while (%i = %c0) : (index) -> index {
    nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>, tensor<8xf32>) -> ()
    %go = arith.cmpi slt, %i, %n : index
    scf.condition(%go) %i : index
  } do {
  ^bb0(%i: index):
    %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 1>) -> tensor<8xf32>
    %j = arith.addi %i, %c1 : index
    scf.yield %j : index
  }
  func.return %last : index
}

// CHECK-LABEL: func.func @alone(%n: index, %x: tensor<8xf32>) -> index {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %q_p, %q_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 1 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8}
// CHECK-NEXT:    %q_pi = nv_tileas.async.pipeline.create_iterator %q_p
// CHECK-NEXT:    %q_ci = nv_tileas.async.pipeline.create_iterator %q_c
// CHECK-NEXT:    %last, %q_pi_1, %q_ci_1 = scf.while (%i = %c0, %q_pi_2 = %q_pi, %q_ci_2 = %q_ci) : (index, !nv_tileas.pipeline_iter<tensor<8xf32>>, !nv_tileas.pipeline_iter<tensor<8xf32>>)
// CHECK-NEXT:      %produced = nv_tileas.async.pipeline.produce_one %q_p, %q_pi_2 {
// CHECK-NEXT:        %own = nv_tileas.async.pipeline.producer_acquire %q_p, %q_pi_2
// CHECK-NEXT:        %full = nv_tileas.async.pipeline.producer_write %own, %q_pi_2 attributes {producer_types = [tensor<8xf32>]} {
// CHECK-NEXT:        ^bb0(%0: tensor<8xf32>):
// CHECK-NEXT:          nv_tileas.async.pipeline.yield %x
// CHECK-NEXT:        }
// CHECK-NEXT:        nv_tileas.async.pipeline.producer_commit %full
// CHECK-NEXT:        nv_tileas.async.pipeline.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      %q_pi_3 = nv_tileas.async.pipeline.inc_iter %q_pi_2
// CHECK-NEXT:      %go = arith.cmpi slt, %i, %n : index
// CHECK-NEXT:      scf.condition(%go) %i, %q_pi_3, %q_ci_2 : index, !nv_tileas.pipeline_iter<tensor<8xf32>>, !nv_tileas.pipeline_iter<tensor<8xf32>>
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^bb0(%i_1: index, %q_pi_4: !nv_tileas.pipeline_iter<tensor<8xf32>>, %q_ci_3: !nv_tileas.pipeline_iter<tensor<8xf32>>):
// CHECK-NEXT:      %v, %consumed = nv_tileas.async.pipeline.consume_one %q_c, %q_ci_3 attributes {consumer_idx = 0 : i32} {
// CHECK-NEXT:        %got = nv_tileas.async.pipeline.consumer_wait %q_c, %q_ci_3 attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:        %tile, %done = nv_tileas.async.pipeline.consumer_read %got, %q_ci_3 attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:        nv_tileas.async.pipeline.consumer_release %done
// CHECK-NEXT:        nv_tileas.async.pipeline.yield %tile
// CHECK-NEXT:      }
// CHECK-NEXT:      %q_ci_4 = nv_tileas.async.pipeline.inc_iter %q_ci_3
// CHECK-NEXT:      %j = arith.addi %i_1, %c1 : index
// CHECK-NEXT:      scf.yield %j, %q_pi_4, %q_ci_4 : index, !nv_tileas.pipeline_iter<tensor<8xf32>>, !nv_tileas.pipeline_iter<tensor<8xf32>>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %last : index
// CHECK-NEXT:  }

// -----

// A slot index that counts the turns stays as the stage: no iterators, and the tokens alone are handed to the agents.
func.func @indexed(%n: index, %x: tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 4>
  nv_tileaa.execute attributes {num_agents_per_group = array<i32: 1, 2>} {
    scf.for %i = %c0 to %n step %c1 {
      nv_tileaa.queue.put %q[%i], %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 4>, index, tensor<8xf32>) -> ()
    }
  }, {
  ^bb0(%number: index):
    scf.for %i = %c0 to %n step %c1 {
      %v = nv_tileaa.queue.get %q[%i] : (!nv_tileaa.queue<[tensor<8xf32>], depth = 4>, index) -> tensor<8xf32>
    }
  } : () -> ()
  func.return
}

// CHECK-LABEL: func.func @indexed(%n: index, %x: tensor<8xf32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %q_p, %q_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 4 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8}
// CHECK-NEXT:    nv_tileas.async.pipeline.agent_switch %q_p, %q_c attributes {num_agents_per_group = array<i32: 1, 2>} {
// CHECK-NEXT:      scf.for %i = %c0 to %n step %c1 {
// CHECK-NEXT:        %produced = nv_tileas.async.pipeline.produce_one %q_p, %i {
// CHECK-NEXT:          %own = nv_tileas.async.pipeline.producer_acquire %q_p, %i
// CHECK-NEXT:          %full = nv_tileas.async.pipeline.producer_write %own, %i attributes {producer_types = [tensor<8xf32>]} {
// CHECK-NEXT:          ^bb0(%0: tensor<8xf32>):
// CHECK-NEXT:            nv_tileas.async.pipeline.yield %x
// CHECK-NEXT:          }
// CHECK-NEXT:          nv_tileas.async.pipeline.producer_commit %full
// CHECK-NEXT:          nv_tileas.async.pipeline.yield
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }, {
// CHECK-NEXT:    ^bb0(%number: index):
// CHECK-NEXT:      scf.for %i_1 = %c0 to %n step %c1 {
// CHECK-NEXT:        %v, %consumed = nv_tileas.async.pipeline.consume_one %q_c, %i_1 attributes {consumer_idx = 0 : i32} {
// CHECK-NEXT:          %got = nv_tileas.async.pipeline.consumer_wait %q_c, %i_1 attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:          %tile, %done = nv_tileas.async.pipeline.consumer_read %got, %i_1 attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:          nv_tileas.async.pipeline.consumer_release %done
// CHECK-NEXT:          nv_tileas.async.pipeline.yield %tile
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// An isolated execute keeps its arguments: the queue's goes, the tokens and iterators come behind the others.
func.func @isolated(%x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.execute %q, %x attributes {num_agents_per_group = array<i32: 1, 2>, isolated = true} {
  ^bb0(%in: !nv_tileaa.queue<[tensor<8xf32>], depth = 2>, %y: tensor<8xf32>):
    nv_tileaa.queue.put %in, %y : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  }, {
  ^bb0(%number: index, %in: !nv_tileaa.queue<[tensor<8xf32>], depth = 2>, %y: tensor<8xf32>):
    %v = nv_tileaa.queue.get %in attributes {consumer_idx = 1 : i32} : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
  } : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @isolated(%x: tensor<8xf32>) {
// CHECK-NEXT:    %q_p, %q_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 1 : i8}
// CHECK-NEXT:    %q_pi = nv_tileas.async.pipeline.create_iterator %q_p
// CHECK-NEXT:    %q_ci = nv_tileas.async.pipeline.create_iterator %q_c
// CHECK-NEXT:    nv_tileas.async.pipeline.agent_switch %x, %q_p, %q_pi, %q_c, %q_ci attributes {num_agents_per_group = array<i32: 1, 2>, isolated = true} {
// CHECK-NEXT:    ^bb0(%y: tensor<8xf32>, %q_p_1: !nv_tileas.producer_token, %q_pi_1: !nv_tileas.pipeline_iter<tensor<8xf32>>, %q_c_1: !nv_tileas.consumer_token, %q_ci_1: !nv_tileas.pipeline_iter<tensor<8xf32>>):
// CHECK-NEXT:      %produced = nv_tileas.async.pipeline.produce_one %q_p_1, %q_pi_1 {
// CHECK-NEXT:        %own = nv_tileas.async.pipeline.producer_acquire %q_p_1, %q_pi_1
// CHECK-NEXT:        %full = nv_tileas.async.pipeline.producer_write %own, %q_pi_1 attributes {producer_types = [tensor<8xf32>]} {
// CHECK-NEXT:        ^bb0(%0: tensor<8xf32>):
// CHECK-NEXT:          nv_tileas.async.pipeline.yield %y
// CHECK-NEXT:        }
// CHECK-NEXT:        nv_tileas.async.pipeline.producer_commit %full
// CHECK-NEXT:        nv_tileas.async.pipeline.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      %q_pi_2 = nv_tileas.async.pipeline.inc_iter %q_pi_1
// CHECK-NEXT:    }, {
// CHECK-NEXT:    ^bb0(%number: index, %y_1: tensor<8xf32>, %q_p_2: !nv_tileas.producer_token, %q_pi_3: !nv_tileas.pipeline_iter<tensor<8xf32>>, %q_c_2: !nv_tileas.consumer_token, %q_ci_2: !nv_tileas.pipeline_iter<tensor<8xf32>>):
// CHECK-NEXT:      %v, %consumed = nv_tileas.async.pipeline.consume_one %q_c_2, %q_ci_2 attributes {consumer_idx = 1 : i32} {
// CHECK-NEXT:        %got = nv_tileas.async.pipeline.consumer_wait %q_c_2, %q_ci_2 attributes {consumer_idx = 1 : i32}
// CHECK-NEXT:        %tile, %done = nv_tileas.async.pipeline.consumer_read %got, %q_ci_2 attributes {consumer_idx = 1 : i32}
// CHECK-NEXT:        nv_tileas.async.pipeline.consumer_release %done
// CHECK-NEXT:        nv_tileas.async.pipeline.yield %tile
// CHECK-NEXT:      }
// CHECK-NEXT:      %q_ci_3 = nv_tileas.async.pipeline.inc_iter %q_ci_2
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// A tile in shared memory is a view of its slot: the release stands behind the last use, also through views of the view
// and through a loop that uses it. A tile without layout is a value, and its slot is released inside.
#smem = #nv_tileas.layout<smem>
func.func @released_late(%n: index, %acc: tensor<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<4x4xf16, #smem>, tensor<4x4xf32>], depth = 2>
  scf.for %i = %c0 to %n step %c1 {
    %a, %b = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<4x4xf16, #smem>, tensor<4x4xf32>], depth = 2>) -> (tensor<4x4xf16, #smem>, tensor<4x4xf32>)
    %flat = nv_tileaa.view %a : (tensor<4x4xf16, #smem>) -> tensor<16xf16, #smem>
    %first = nv_tileaa.dot %a, %a, %acc : (tensor<4x4xf16, #smem>, tensor<4x4xf16, #smem>, tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.for %j = %c0 to %n step %c1 {
      %piece = nv_tileas.convert_layout %flat : (tensor<16xf16, #smem>) -> tensor<16xf16>
    }
    %second = arith.addf %first, %b : tensor<4x4xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @released_late(%n: index, %acc: tensor<4x4xf32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %q_p, %q_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8}
// CHECK-NEXT:    %q_ci = nv_tileas.async.pipeline.create_iterator %q_c
// CHECK-NEXT:    %q_ci_1 = scf.for %i = %c0 to %n step %c1 iter_args(%q_ci_2 = %q_ci)
// CHECK-NEXT:      %a, %b, %consumed = nv_tileas.async.pipeline.consume_one %q_c, %q_ci_2 attributes {consumer_idx = 0 : i32} {
// CHECK-NEXT:        %got = nv_tileas.async.pipeline.consumer_wait %q_c, %q_ci_2 attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:        %tile, %tile_1 = nv_tileas.async.pipeline.consumer_read %got, %q_ci_2 attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:        nv_tileas.async.pipeline.yield %tile, %tile_1
// CHECK-NEXT:      }
// CHECK-NEXT:      %q_ci_3 = nv_tileas.async.pipeline.inc_iter %q_ci_2
// CHECK-NEXT:      %flat = nv_tileaa.view %a
// CHECK-NEXT:      %first = nv_tileaa.dot %a, %a, %acc
// CHECK-NEXT:      scf.for %j = %c0 to %n step %c1 {
// CHECK-NEXT:        %piece = nv_tileas.convert_layout %flat
// CHECK-NEXT:      }
// CHECK-NEXT:      nv_tileas.async.pipeline.consumer_release %consumed
// CHECK-NEXT:      %second = arith.addf %first, %b : tensor<4x4xf32>
// CHECK-NEXT:      scf.yield %q_ci_3 : !nv_tileas.pipeline_iter<tuple<tensor<4x4xf16, #nv_tileas.layout<smem>>, tensor<4x4xf32>>>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// A get that only computes still reads its slot. A get inside a put takes its turn there; its iterator is advanced behind
// the put.
func.func @inside(%x: tensor<8xf32>, %out: memref<1x8xf32>) {
  %c0 = arith.constant 0 : index
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  %r = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>], depth = 2>
  nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>, tensor<8xf32>) -> ()
  nv_tileaa.queue.put %r {
  ^bb0(%s: tensor<8xf32>):
    %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> tensor<8xf32>
    nv_tileaa.queue.yield %v : (tensor<8xf32>) -> ()
  } : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> ()
  nv_tileaa.queue.get %r {
  ^bb0(%s: tensor<8xf32>):
    %row = nv_tileaa.view %s : (tensor<8xf32>) -> tensor<1x8xf32>
    nv_tileaa.tiled_store %out[%c0, %c0], %row : (memref<1x8xf32>, tensor<1x8xf32>, index, index) -> ()
    nv_tileaa.queue.yield : () -> ()
  } : (!nv_tileaa.queue<[tensor<8xf32>], depth = 2>) -> ()
  func.return
}

// CHECK-LABEL: func.func @inside(%x: tensor<8xf32>, %out: memref<1x8xf32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %q_p, %q_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8}
// CHECK-NEXT:    %q_pi = nv_tileas.async.pipeline.create_iterator %q_p
// CHECK-NEXT:    %q_ci = nv_tileas.async.pipeline.create_iterator %q_c
// CHECK-NEXT:    %r_p, %r_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8}
// CHECK-NEXT:    %r_pi = nv_tileas.async.pipeline.create_iterator %r_p
// CHECK-NEXT:    %r_ci = nv_tileas.async.pipeline.create_iterator %r_c
// CHECK-NEXT:    %produced = nv_tileas.async.pipeline.produce_one %q_p, %q_pi {
// CHECK-NEXT:      %own = nv_tileas.async.pipeline.producer_acquire %q_p, %q_pi
// CHECK-NEXT:      %full = nv_tileas.async.pipeline.producer_write %own, %q_pi attributes {producer_types = [tensor<8xf32>]} {
// CHECK-NEXT:      ^bb0(%0: tensor<8xf32>):
// CHECK-NEXT:        nv_tileas.async.pipeline.yield %x
// CHECK-NEXT:      }
// CHECK-NEXT:      nv_tileas.async.pipeline.producer_commit %full
// CHECK-NEXT:      nv_tileas.async.pipeline.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %q_pi_1 = nv_tileas.async.pipeline.inc_iter %q_pi
// CHECK-NEXT:    %produced_1 = nv_tileas.async.pipeline.produce_one %r_p, %r_pi {
// CHECK-NEXT:      %own_1 = nv_tileas.async.pipeline.producer_acquire %r_p, %r_pi
// CHECK-NEXT:      %full_1 = nv_tileas.async.pipeline.producer_write %own_1, %r_pi attributes {producer_types = [tensor<8xf32>]} {
// CHECK-NEXT:      ^bb0(%s: tensor<8xf32>):
// CHECK-NEXT:        %v, %consumed = nv_tileas.async.pipeline.consume_one %q_c, %q_ci attributes {consumer_idx = 0 : i32} {
// CHECK-NEXT:          %got = nv_tileas.async.pipeline.consumer_wait %q_c, %q_ci attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:          %tile, %done = nv_tileas.async.pipeline.consumer_read %got, %q_ci attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:          nv_tileas.async.pipeline.consumer_release %done
// CHECK-NEXT:          nv_tileas.async.pipeline.yield %tile
// CHECK-NEXT:        }
// CHECK-NEXT:        nv_tileas.async.pipeline.yield %v
// CHECK-NEXT:      }
// CHECK-NEXT:      nv_tileas.async.pipeline.producer_commit %full_1
// CHECK-NEXT:      nv_tileas.async.pipeline.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %q_ci_1 = nv_tileas.async.pipeline.inc_iter %q_ci
// CHECK-NEXT:    %r_pi_1 = nv_tileas.async.pipeline.inc_iter %r_pi
// CHECK-NEXT:    %consumed_1 = nv_tileas.async.pipeline.consume_one %r_c, %r_ci attributes {consumer_idx = 0 : i32} {
// CHECK-NEXT:      %got_1 = nv_tileas.async.pipeline.consumer_wait %r_c, %r_ci attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:      %tile_1, %done_1 = nv_tileas.async.pipeline.consumer_read %got_1, %r_ci attributes {consumer_idx = 0 : i32, consumer_types = [tensor<8xf32>]} {
// CHECK-NEXT:      ^bb0(%s_1: tensor<8xf32>):
// CHECK-NEXT:        %row = nv_tileaa.view %s_1
// CHECK-NEXT:        nv_tileaa.tiled_store %out[%c0, %c0], %row
// CHECK-NEXT:        nv_tileas.async.pipeline.yield %s_1
// CHECK-NEXT:      }
// CHECK-NEXT:      nv_tileas.async.pipeline.consumer_release %done_1
// CHECK-NEXT:      nv_tileas.async.pipeline.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %r_ci_1 = nv_tileas.async.pipeline.inc_iter %r_ci
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// The default depth, which the pass remarks on (standard error, not looked at here).
func.func @no_depth(%x: tensor<8xf32>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32>]>
  nv_tileaa.queue.put %q, %x : (!nv_tileaa.queue<[tensor<8xf32>]>, tensor<8xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func @no_depth(%x: tensor<8xf32>) {
// CHECK-NEXT:    %q_p, %q_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8}
// CHECK-NEXT:    %q_pi = nv_tileas.async.pipeline.create_iterator %q_p
// CHECK-NEXT:    %produced = nv_tileas.async.pipeline.produce_one %q_p, %q_pi {
// CHECK-NEXT:      %own = nv_tileas.async.pipeline.producer_acquire %q_p, %q_pi
// CHECK-NEXT:      %full = nv_tileas.async.pipeline.producer_write %own, %q_pi attributes {producer_types = [tensor<8xf32>]} {
// CHECK-NEXT:      ^bb0(%0: tensor<8xf32>):
// CHECK-NEXT:        nv_tileas.async.pipeline.yield %x
// CHECK-NEXT:      }
// CHECK-NEXT:      nv_tileas.async.pipeline.producer_commit %full
// CHECK-NEXT:      nv_tileas.async.pipeline.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %q_pi_1 = nv_tileas.async.pipeline.inc_iter %q_pi
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// A view that asynchronous work reads is released behind the wait for it.
#smem = #nv_tileas.layout<smem>
func.func @awaited(%out: tensor<8xf32, #smem>) {
  %q = nv_tileaa.create_queue : () -> !nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>
  %v = nv_tileaa.queue.get %q : (!nv_tileaa.queue<[tensor<8xf32, #smem>], depth = 2>) -> tensor<8xf32, #smem>
  %t = nv_tileas.async.copy %v, %out : (tensor<8xf32, #smem>, tensor<8xf32, #smem>) -> !nv_tileas.token
  nv_tileas.async.wait %t : (!nv_tileas.token) -> ()
  func.return
}

// CHECK-LABEL: func.func @awaited(%out: tensor<8xf32, #nv_tileas.layout<smem>>) {
// CHECK-NEXT:    %q_p, %q_c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8}
// CHECK-NEXT:    %q_ci = nv_tileas.async.pipeline.create_iterator %q_c
// CHECK-NEXT:    %v, %consumed = nv_tileas.async.pipeline.consume_one %q_c, %q_ci attributes {consumer_idx = 0 : i32} {
// CHECK-NEXT:      %got = nv_tileas.async.pipeline.consumer_wait %q_c, %q_ci attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:      %tile = nv_tileas.async.pipeline.consumer_read %got, %q_ci attributes {consumer_idx = 0 : i32}
// CHECK-NEXT:      nv_tileas.async.pipeline.yield %tile
// CHECK-NEXT:    }
// CHECK-NEXT:    %q_ci_1 = nv_tileas.async.pipeline.inc_iter %q_ci
// CHECK-NEXT:    %t = nv_tileas.async.copy %v, %out
// CHECK-NEXT:    nv_tileas.async.wait %t
// CHECK-NEXT:    nv_tileas.async.pipeline.consumer_release %consumed
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }

// -----

// Not ours: a queue from outside (seed 004's input of MaterializeAsync) stays a queue, and so do its gets; agents that
// use it become an agent switch all the same.
#smem = #nv_tileas.layout<smem>
func.func @from_outside(%qa: !nv_tileaa.queue<[tensor<128x64xf16, #smem>], depth = 3>, %init: tensor<128x128xf32>, %b: tensor<64x128xf16>, %n: index) -> tensor<128x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (tensor<128x128xf32>) {
    %a = nv_tileaa.queue.get %qa[%i] : (!nv_tileaa.queue<[tensor<128x64xf16, #smem>], depth = 3>, index) -> tensor<128x64xf16, #smem>
    %c = nv_tileas.dot %a, %b, %acc : (tensor<128x64xf16, #smem>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    scf.yield %c : tensor<128x128xf32>
  }
  nv_tileaa.execute %qa attributes {num_agents_per_group = array<i32: 1>} {
  ^bb0(%in: !nv_tileaa.queue<[tensor<128x64xf16, #smem>], depth = 3>):
    %a = nv_tileaa.queue.get %in : (!nv_tileaa.queue<[tensor<128x64xf16, #smem>], depth = 3>) -> tensor<128x64xf16, #smem>
  } : (!nv_tileaa.queue<[tensor<128x64xf16, #smem>], depth = 3>) -> ()
  func.return %out : tensor<128x128xf32>
}

// CHECK-LABEL: func.func @from_outside(%qa: !nv_tileaa.queue<[tensor<128x64xf16, #nv_tileas.layout<smem>>], depth = 3>, %init: tensor<128x128xf32>, %b: tensor<64x128xf16>, %n: index) -> tensor<128x128xf32> {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %out = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init)
// CHECK-NEXT:      %a = nv_tileaa.queue.get %qa[%i]
// CHECK-NEXT:      %c = nv_tileas.dot %a, %b, %acc
// CHECK-NEXT:      scf.yield %c : tensor<128x128xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    nv_tileas.async.pipeline.agent_switch %qa attributes {num_agents_per_group = array<i32: 1>} {
// CHECK-NEXT:      %a_1 = nv_tileaa.queue.get %qa
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %out : tensor<128x128xf32>
// CHECK-NEXT:  }

// -----

// Nothing to do: what the pass makes is left as it is.
func.func @no_op(%x: tensor<8xf32>) {
  %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  %r, %s = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8} : () -> (!nv_tileas.producer_token, !nv_tileas.consumer_token)
  nv_tileaa.mark_for_reuse %p, %r attributes {partitions = array<i32: 2>} : (!nv_tileas.producer_token, !nv_tileas.producer_token) -> ()
  func.return
}

// CHECK-LABEL: func.func @no_op(%x: tensor<8xf32>) {
// CHECK-NEXT:    %p, %c = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8}
// CHECK-NEXT:    %r, %s = nv_tileas.async.pipeline.create_pipeline attributes {numStages = 2 : i32, producerGroupId = 0 : i8, consumerGroupId = 0 : i8}
// CHECK-NEXT:    nv_tileaa.mark_for_reuse %p, %r attributes {partitions = array<i32: 2>}
// CHECK-NEXT:    func.return
// CHECK-NEXT:  }
