# Writes the pickles of this folder: python3 make.py
import pickle, collections, struct
class A:
    pass
class B(list): pass
class C(dict): pass
class D:
    def __init__(self,*a): pass
    def __reduce__(self): return (D,(1,'x'),{'s':2})
class E(object):
    def __new__(cls,*a,**k): return object.__new__(cls)
    def __getnewargs_ex__(self): return ((1,),{'k':2})
a=A(); a.x=[1,2.5,None]; 
shared=[1]
vals=[None,True,False,0,255,65535,-1,2**31,-2**40,2**70,-2**70,1.5,'text','größe',b'bytes',bytearray(b'ba'),(),(1,),(1,2),(1,2,3),(1,2,3,4),[],[1],[1,2],{}, {'a':1}, {'a':1,'b':[2]}, {1}, frozenset([2]), a, B([1,2]), C(a=1), D(), E(), collections.OrderedDict([('k','v')]), [shared,shared], len]
class P(pickle._Pickler):
    def persistent_id(self,o):
        return ('storage',o.k) if isinstance(o,K) else None
class K:
    def __init__(self,k): self.k=k
import io
for proto in (2,3,4,5):
    b=io.BytesIO(); p=P(b,proto); p.dump(vals+[K('0')]); open('protocol%d.pkl'%proto,'wb').write(b.getvalue())
